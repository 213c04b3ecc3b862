"""Faults in what is done when the configuration changes."""

from __future__ import annotations

from tests.mutations.mutant import mutants

RELOAD = "tests/unit/core/test_reload.py"
UNSERVED = "tests/unit/core/test_unserved.py"
APP = "tests/edge/app/test_"

MUTANTS = (
    *mutants(
        "scheduler/core/reload.py",
        RELOAD,
        ("    if in_use:\n        return\n", ""),
        ("    state.queue.move_all(CONFIGURATION_CHANGED, stimulus.now)\n", ""),
        ("    for pod in state.unserved.take_served(offered.profiles):\n", "    for pod in ():\n"),
        ("    for binding in state.bindings.values():\n        yield binding.queued.pod\n", ""),
        ("min(pod.key for pod in pods)", "max(pod.key for pod in pods)"),
    ),
    *mutants(
        "scheduler/core/state.py",
        RELOAD,
        ("        self._signer.change(offered.profiles)\n", ""),
        ("        self.batching.change(offered.profiles, offered.batching, now)\n", ""),
        ("        sorts_alike = type(before) is type(after) and vars", "        sorts_alike = vars"),
        ("event.is_wildcard or any(each.matches(event)", "any(each.matches(event)"),
    ),
    *mutants(
        "scheduler/queue/scheduling_queue.py",
        RELOAD,
        ("        if queued.edition != self._edition:\n            self._sign_anew(queued)\n", ""),
        ("return queued.signature if queued.edition == self._edition else None", "return queued.signature"),
        ("        is_same = sorts_alike and backoff == self._backoff\n", "        is_same = True\n"),
    ),
    *mutants(
        "scheduler/batch/entries.py",
        RELOAD,
        ("            self.drop(key, Flush.CONFIG_CHANGED, now)\n", "            pass\n"),
    ),
    *mutants(
        "scheduler/core/bind_check.py",
        RELOAD,
        ("state.bindings[pod.uid].profile or state.profile_of(pod)", "state.profile_of(pod)"),
    ),
    *mutants(
        "scheduler/core/unserved.py",
        UNSERVED,
        ("self._due[0][0] <= now", "self._due[0][0] < now"),
        ("                if not self._may_warn(now):\n                    break\n", ""),
        ("scheduler_name in self._others:", "scheduler_name == '':"),
        ("        waiting.is_asked = False\n", ""),
        ("if has_events or not meant", "if not meant"),
        ("0 < distance(name, ours, TYPOS) <= TYPOS", "distance(name, ours, TYPOS) < TYPOS"),
    ),
    *mutants(
        "scheduler/config/restart.py",
        "tests/unit/config/test_restart.py",
        ('"delayCacheUntilActive", "extenders")', '"delayCacheUntilActive")'),
        ("    if wanted.kube.extenders and not changed:\n", "    if False:\n"),
    ),
    *mutants(
        "scheduler/app/reloading.py",
        f"{APP}reloading.py",
        ("        if hash_of(wanted) == hash_of(running):\n", "        if False:\n"),
        ("        await self._target.prepare(wanted)\n", ""),
        ("                    deciding.cancel()\n                    await", "                    await"),
        ("            if verdict != told:\n", "            if True:\n"),
        ("if one not in known]", "if one in known]"),
    ),
    *mutants(
        "scheduler/app/configuration_resource.py",
        f"{APP}configuration_resource.py",
        ("        if seen == self._offered:\n            return\n", ""),
        ("and seen[1] < self._offered[1]:", "and False:"),
        ("        if seen == self._offered:\n            self._verdict", "        if True:\n            self._verdict"),
        ("        if not self._is_leader():\n", "        if False:\n"),
        ("now - self._shown_ratio[0] >= HIT_RATIO_SECONDS", "True"),
        (
            '            if status.get("conditions"):\n                continue',
            "            if False:\n                continue",
        ),
    ),
    *mutants(
        "scheduler/app/config_file.py",
        f"{APP}config_file.py",
        ("(now != self._seen and is_settled)", "(now != self._seen)"),
        ("            is_settled = now == before or (", "            is_settled = now == before or False and ("),
    ),
    *mutants(
        "scheduler/operator/watcher.py",
        "tests/edge/operator/test_watcher.py",
        ("    settings.posting.enabled = False\n", ""),
        ("    settings.scanning.disabled = True\n", ""),
    ),
)
