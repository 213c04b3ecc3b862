"""Faults in what becomes of a pod's claims."""

from __future__ import annotations

from tests.mutations.mutant import mutants

FOLDER = "scheduler/plugins/volume_binding"
UNIT = "tests/unit/plugins/test_volume_binding"
NODES = f"{UNIT}.py"
CLAIMS = f"{UNIT}_claims.py"
STEPS = f"{UNIT}_steps.py"
COLUMNS = f"{UNIT}_properties.py"

MUTANTS = (
    *mutants(
        f"{FOLDER}/claims.py",
        CLAIMS,
        ("elif _waits_for_consumer(claim, storage) and not claim.spec.volume_name:", "elif True:"),
        ("            return owner.uid == pod.metadata.uid\n", "            return True\n"),
        ("        if owner.controller:\n", "        if True:\n"),
        ("        if claim.metadata.deletion_timestamp is not None:\n", "        if False:\n"),
        ("        if is_fully_bound(claim):\n", "        if claim.spec.volume_name:\n"),
    ),
    *mutants(
        f"{FOLDER}/facts.py",
        NODES,
        ('holder.uid in ("", claim.metadata.uid)', "holder.uid == claim.metadata.uid"),
        (
            "capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size",
            "capacity.capacity",
        ),
    ),
    *mutants(
        f"{FOLDER}/matching.py",
        f"{NODES} {COLUMNS}",
        ("volume.size < claim.size or volume.is_terminating", "volume.size <= claim.size or volume.is_terminating"),
        ("volume.attributes_class != claim.attributes_class", "False"),
        ("claim.access_modes <= volume.access_modes", "claim.access_modes & volume.access_modes"),
        ("np.where(reached, number, NONE), chosen)", "np.where(reached, number, chosen), chosen)"),
        ("                here &= gone != number\n", "                pass\n"),
    ),
    *mutants(
        f"{FOLDER}/plan.py",
        f"{NODES} {COLUMNS}",
        (
            "                return is_mismatch, is_open, failures\n",
            "                return is_mismatch, np.ones(len(nodes), np.bool_), failures\n",
        ),
        ("is_short |= is_provisioned & is_possible & ~is_enough", "is_short |= is_provisioned & ~is_enough"),
        ("_count_provision(uses, outcome, ~is_static)", "_count_provision(uses, outcome, is_static | True)"),
        ("            taken.append(chosen)\n", ""),
    ),
    *mutants(
        f"{FOLDER}/planning.py",
        NODES,
        (", key=lambda claim: claim.size)", ", key=lambda claim: 0)"),
        ("for claim in (*selected, *others)", "for claim in (*others, *selected)"),
    ),
    *mutants(
        f"{FOLDER}/reach.py",
        f"{NODES} {COLUMNS}",
        ("term._replace(fields=())", "term"),
        ("                position = position + (is_taken & (position < end))\n", "                break\n"),
        ("numbers = np.where(_as_column(matches_term(self._rest, nodes)), numbers, 0)", "pass"),
    ),
    *mutants(
        f"{FOLDER}/scoring.py",
        NODES,
        ("            self._capacity[here] = capacity[here]\n", "            self._capacity[here] += capacity[here]\n"),
        ("(self._capacity == 0) | ", ""),
        ("ops.round_half_away(ops.divide(total, classes))", "ops.div_trunc(total, classes)"),
    ),
    *mutants(
        f"{FOLDER}/migration.py",
        NODES,
        ("    for held in (keys, labels):\n", "    for held in (keys,):\n"),
        (' - {""})', ")"),
        ("    if region == _BETA_REGION and _values(terms, region):\n", "    if False:\n"),
    ),
    *mutants(
        f"{FOLDER}/binding.py",
        STEPS,
        (
            "            if not write.is_written:\n                storage.restore",
            "            if True:\n                storage.restore",
        ),
        ("                for one in assumed:\n                    storage.restore(one)\n", ""),
        ("int(held) < int(version)", "False"),
        ("if holder is None or not holder.uid:", "if holder is None:"),
        ("not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER", "BOUND_BY_CONTROLLER"),
        (
            "                return False\n            _check_affinity",
            "                return True\n            _check_affinity",
        ),
    ),
    *mutants(
        f"{FOLDER}/plugin.py",
        STEPS,
        (
            "state.setdefault(_DEADLINE, handle.now + self._bind_timeout_seconds)",
            "handle.now + self._bind_timeout_seconds",
        ),
        ("        if handle.now >= deadline:\n", "        if handle.now > deadline:\n"),
        ("plan.all_bound or _FILTERED not in state", "_FILTERED not in state"),
        ("plan.all_bound or _FILTERED not in state", "plan.all_bound"),
    ),
)
