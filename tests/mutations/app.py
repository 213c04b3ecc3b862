"""Faults in the commands: lines of evaluate, tables, the loop."""

from __future__ import annotations

from tests.mutations.mutant import mutants

EDGE = "tests/edge/app/test_"

MUTANTS = (
    *mutants(
        "scheduler/app/plain_cluster.py",
        f"{EDGE}evaluate_state.py",
        ('if known is None or reference.uid not in ("", known):', "if known is None:"),
        ("        if before is not None and before != pod.uid:\n            self._forget_pod(key, before)\n", ""),
        ("            self._forget_pod(elsewhere, pod.uid)\n", "            pass\n"),
        ("        else:\n            self.cache.remove_pod(pod.uid)\n", ""),
        (
            "            if seated is not None:\n                self.cache.apply_pod(seated.pod)\n",
            "            pass\n",
        ),
        ("and pod.pod.status.phase not in TERMINAL_PHASES", ""),
    ),
    *mutants(
        "scheduler/app/evaluate_jsonl.py",
        f"{EDGE}evaluate_state.py {EDGE}evaluate_unreadable.py",
        (
            "if is_same and _is_kept_up_to_date(pod, profile) else None",
            "if _is_kept_up_to_date(pod, profile) else None",
        ),
        # A cluster that cannot be read leaves the one before.
        ("                session = None\n                pod, session", "                pod, session"),
        # Deletions come last.
        (
            (
                "    for reference in references:\n        session.cluster.delete(reference)\n"
                "    for item in objects:\n        session.cluster.apply(item)\n"
            ),
            (
                "    for item in objects:\n        session.cluster.apply(item)\n"
                "    for reference in references:\n        session.cluster.delete(reference)\n"
            ),
        ),
        ("key = msgspec.json.encode(value)", 'key = b""'),
    ),
    *mutants(
        "scheduler/app/explanation.py",
        f"{EDGE}evaluate_jsonl.py {EDGE}evaluate_state.py",
        ("    if missing is not None:\n", "    if missing is not None and kept is None:\n"),
        ("        with suppress(PluginFailure):\n", "        with suppress():\n"),
        ('        result["scored"] = False\n', "        pass\n"),
        ("profile.scheduler_name == name", "True"),
        ("    if status.plugin:\n", "    if True:\n"),
    ),
    *mutants(
        "scheduler/app/cluster_objects.py",
        f"{EDGE}evaluate_unreadable.py {EDGE}evaluate_state.py",
        ("            _ = (allocatable_of(decoded), images_of(decoded))\n", "            pass\n"),
        ("        _ = info.amounts\n", "        pass\n"),
        (
            '    except RecursionError as error:\n        raise ObjectError("not JSON',
            '    except ZeroDivisionError as error:\n        raise ObjectError("not JSON',
        ),
        ('"kind" not in item and kind != "List"', "False"),
        ('    if raw["kind"] != "Pod":\n', "    if False:\n"),
        ("    if pod.metadata.uid:\n        return pod\n", "    return pod\n"),
    ),
    *mutants(
        "scheduler/app/evaluate_command.py",
        f"{EDGE}evaluate_command.py",
        ("    for raw in reversed(pods):\n", "    for raw in pods:\n"),
        ('(-result["totals"][name], name)', "name"),
        ("    if options.file is None or options.pod is None:\n", "    if options.file is None:\n"),
    ),
    *mutants(
        "scheduler/app/loop.py",
        f"{EDGE}loop.py",
        ("        while self._scheduling and self._has_room():\n", "        while self._scheduling:\n"),
        ("        while self._scheduling and self._has_room():\n", "        while self._has_room():\n"),
        ("            if now >= end:\n                return True\n", ""),
        ("            if self._clock() >= end:\n                return True\n", ""),
        ("            ticker.cancel()\n", "            pass\n"),
        ("math.floor(now) + 1 - now", "1.0"),
        # News that come while it works wake it no more.
        ("        self._has_news = True\n", ""),
        (
            "        is_unfinished = self._work()\n        for complaint in self._brain.take_complaints():\n            self._on_complaint(complaint)\n",
            "        is_unfinished = self._work()\n",
        ),
    ),
    *mutants(
        "scheduler/app/cli.py",
        f"{EDGE}cli.py",
        ("int(text) > HIGHEST_SEED", "int(text) > 2 * HIGHEST_SEED + 1"),
        ("        return EXIT_INTERRUPTED\n", "        return EXIT_FAILURE\n"),
        ("        sys.stdout.flush()\n", ""),
        ("        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())\n", ""),
    ),
    *mutants(
        "scheduler/app/replay_command.py",
        f"{EDGE}replay_command.py",
        ("return EXIT_DIFFERENT if differences else 0", "return 0"),
        ("seed=header.seed", "seed=0"),
    ),
)
