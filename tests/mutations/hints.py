"""Faults in what plugins say of events, and in which pods answer for others."""

from __future__ import annotations

from tests.mutations.mutant import mutants

HINTS = "tests/unit/plugins/test_queueing_hints.py"
PLUGINS = "scheduler/plugins"

MUTANTS = (
    *mutants(
        "scheduler/core/measurements.py",
        "tests/unit/core/test_measurements.py",
        ("observe(self.stopwatch() - since)", "observe(self.stopwatch())"),
        ("        self.hints[key] += 1\n", ""),
        ("[1.5] * 19", "[2.0] * 19"),
    ),
    *mutants(
        "scheduler/core/state.py",
        "tests/edge/telemetry/test_metrics.py",
        ("        began = self.measurements.stopwatch()\n", "        began = 0.0\n"),
    ),
    *mutants(
        f"{PLUGINS}/node_unschedulable.py",
        HINTS,
        ("not new.spec.unschedulable and (old is None or old.spec.unschedulable)", "not new.spec.unschedulable"),
        ("            return queue_if(_tolerates_cordon(new))\n", "            return Hint.QUEUE\n"),
    ),
    *mutants(
        f"{PLUGINS}/taint_toleration.py",
        HINTS,
        ("not _refuses(new, pod) and (old is None or _refuses(old, pod))", "not _refuses(new, pod)"),
        ("not _refuses(new, pod) and (", "("),
    ),
    *mutants(
        f"{PLUGINS}/node_ports.py",
        HINTS,
        ("had_room(freed) and any(", "any("),
        ("any(conflict(mine, port) for", "any(True for"),
    ),
    *mutants(
        f"{PLUGINS}/node_affinity.py",
        HINTS,
        ("old is None or not self._allows(old) or", "old is None or"),
        (" or not required.matches_node(old))", ")"),
        ("        if not self._allows(new):\n", "        if False:\n"),
    ),
    *mutants(
        f"{PLUGINS}/node_resources_fit/hints.py",
        HINTS,
        ("has.get(PODS, 0) < 1 or ", ""),
        ("for name in (PODS, *requests)", "for name in requests"),
        ("has.get(name, 0) < request", "has.get(name, 0) <= request"),
        ("    if not new.pod.spec.node_name:\n", "    if False:\n"),
        ("before.get(name, 0) > after.get(name, 0)", "before.get(name, 0) >= after.get(name, 0)"),
    ),
    *mutants(
        f"{PLUGINS}/node_resources_fit/plugin.py",
        HINTS,
        (
            "        return frozenset(pod.requests), frozenset(pod.accounted_requests)\n",
            "        return frozenset(), frozenset()\n",
        ),
        ("                return queue_if(had_room(old))\n", "                return Hint.QUEUE\n"),
    ),
    *mutants(
        f"{PLUGINS}/volume_restrictions.py",
        HINTS,
        ("                    freed.pod.metadata.namespace == namespace\n", "                    True\n"),
        ("_claims(pod) & _claims(freed) or _share_a_disk(pod, freed)", "_claims(pod) & _claims(freed)"),
        ("_claims(pod) & _claims(freed) or ", ""),
    ),
    *mutants(
        "scheduler/framework/disks.py",
        HINTS,
        (" and not (read_only and they_read_only)", ""),
    ),
    *mutants(
        f"{PLUGINS}/node_volume_limits/hints.py",
        HINTS,
        ("rose or had.keys() - has.keys() or _drivers(new) - _drivers(old)", "rose"),
        ("limit > had.get(driver, 0)", "limit >= had.get(driver, 0)"),
        (
            "        if claim_name(volume, pod.pod) is not None:\n",
            "        if volume.persistent_volume_claim is not None:\n",
        ),
        ("        if gone.spec.attacher == CSI_DRIVERS[plugin]:\n", "        if True:\n"),
    ),
    *mutants(
        f"{PLUGINS}/volume_binding/hints.py",
        HINTS,
        (" or uses_claims(pod)", ""),
        ("value(now) > value(before)", "value(now) >= value(before)"),
        ("one.values or []", "one.values"),
        ("term in storage_class.allowed_topologies or ()", "term in ()"),
    ),
    *mutants(
        f"{PLUGINS}/volume_zone.py",
        HINTS,
        ("frozenset(label.values)", "label.values"),
        ("new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER", "True"),
    ),
    *mutants(
        f"{PLUGINS}/pod_topology_spread/hints.py",
        HINTS,
        ("had_room(one) and one.pod.metadata.namespace == namespace", "had_room(one)"),
        ("had_room(one) and one.pod.metadata.namespace == namespace", "one.pod.metadata.namespace == namespace"),
        ("counts and (moved or", "(moved or"),
        ("    if counts != _has_all_keys(old, constraints):\n", "    if False:\n"),
        ("is_tolerant_otherwise and any(", "any("),
    ),
    *mutants(
        f"{PLUGINS}/inter_pod_affinity/hints.py",
        HINTS,
        ("(is_now or own.matches_itself)", "is_now"),
        ("    return queue_if(new is None and _kept_off(old, pod, nodes))\n", "    return Hint.SKIP\n"),
        ("    against |= {", "    _ = {"),
        ("any_way=own.matches_itself", "any_way=False"),
        ("any_way=own.matches_itself", "any_way=True"),
        ("    if any(key in before for key in moved & against):\n", "    if moved & against:\n"),
    ),
    *mutants(
        f"{PLUGINS}/inter_pod_affinity/plugin.py",
        HINTS,
        ("        return tuple(sorted((pod.pod.metadata.labels or {}).items()))\n", "        return ()\n"),
    ),
    *mutants(
        "scheduler/profile/profile.py",
        f"{HINTS} tests/story/test_queue_field_cases.py",
        (
            "                    return pod.uid\n                part",
            "                    return ()\n                part",
        ),
        ("            if not isinstance(answer, Hint):\n", "            if False:\n"),
    ),
)
