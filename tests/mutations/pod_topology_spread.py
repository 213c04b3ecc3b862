"""Faults in PodTopologySpread: what counts, for which constraint, and what is asked again when."""

from __future__ import annotations

from tests.mutations.mutant import mutants

FOLDER = "scheduler/plugins/pod_topology_spread/"
UNIT = "tests/unit/plugins/test_pod_topology_spread"
FILTER, SCORES, PROPERTIES = f"{UNIT}.py", f"{UNIT}_scores.py", f"{UNIT}_properties.py"
STORY = "tests/story/test_topology_spread.py"

MUTANTS = (
    *mutants(
        f"{FOLDER}constraints.py",
        FILTER,
        ("    if matcher.nothing:\n        return matcher\n", ""),
        ("counts_terminating=False", "counts_terminating=True"),
        ("    if not matcher.nothing and not matcher.is_empty:\n", "    if not matcher.nothing:\n"),
        ("min_domains=1 if each.min_domains is None else each.min_domains", "min_domains=1"),
        ("honors_affinity=each.node_affinity_policy in (None, _HONOR)", "honors_affinity=True"),
        ("honors_taints=each.node_taints_policy == _HONOR", "honors_taints=each.node_taints_policy in (None, _HONOR)"),
        ("taint.effect not in HARD_EFFECTS or is_tolerated(taint, held)", "is_tolerated(taint, held)"),
        ("(labels[key],)) for key in keys or () if key in labels]", '(labels.get(key, ""),)) for key in keys or ()]'),
    ),
    *mutants(
        f"{FOLDER}constraints.py",
        SCORES,
        ("    if matcher.is_empty:\n        return ()\n", ""),
    ),
    *mutants(
        f"{FOLDER}hard.py",
        FILTER,
        (
            "        eligible = has_all_keys(constraints, nodes)\n",
            "        eligible = nodes.label(constraints[0].topology_key) != 0\n",
        ),
        ("self._has_enough = len(self._present) >= constraint.min_domains", "self._has_enough = True"),
        ("allowed = constraint.max_skew - constraint.self_match", "allowed = constraint.max_skew - 1"),
        ("ops.where(mask == 0, more, mask)", "ops.where(more == 0, mask, more)"),
    ),
    *mutants(
        f"{FOLDER}soft.py",
        SCORES,
        ("        if constraint.is_by_hostname:\n            count", "        if False:\n            count"),
        ("int(bool(empty) and bool(seen[0]) and bool(seen[empty]))", "0"),
        ("        sums[empty] += sums[0]\n", "        pass\n"),
        ("    share[0] = 0.0  # without", "    # without"),
        ("feasible if layout.scored is None else feasible & layout.scored", "feasible"),
        ("float(constraint.max_skew - 1)\n    share[0]", "float(constraint.max_skew)\n    share[0]"),
        ("return ops.where(self.ignored(nodes), 0, score)", "return score"),
    ),
    *mutants(
        f"{FOLDER}plugin.py",
        SCORES,
        ("            low = found.low\n", "            pass\n"),
        ("or not self._is_system_defaulted", "or True"),
        ("or not self._is_system_defaulted", ""),
        ("return ops.where(found.ignored(nodes), 0, final)", "return final"),
    ),
    *mutants(
        f"{FOLDER}plugin.py",
        PROPERTIES,
        ("    return (nodes.domain_version, *counted)\n", "    return (nodes.domain_version,)\n"),
        ("    return (nodes.domain_version, *counted)\n", "    return tuple(counted)\n"),
        ("not np.array_equal(known, feasible)", "False"),
        ('            state.pop("feasible", None)\n', ""),
    ),
    *mutants(
        f"{FOLDER}plugin.py",
        FILTER,
        (
            "        if pod.pod.spec.topology_spread_constraints:\n            return own",
            "        if own_constraints(pod, action):\n            return own",
        ),
        ("        return (pod.pod.metadata.namespace, signed, ", "        return (signed, "),
        ("        return (namespace, deduced.id, ", "        return (deduced.id, "),
    ),
    *mutants(
        f"{FOLDER}plugin.py",
        STORY,
        ("        return (namespace, deduced.id, ", "        return (namespace, "),
    ),
    *mutants(
        f"{FOLDER}hard.py",
        f"{FILTER} {PROPERTIES}",
        ("                self.cells[domain] = mask\n", "                pass\n"),
        ("            if now < self._least:\n                return True\n", ""),
        ("self._with_least += (now == self._least) - (was == self._least)", "pass"),
        ("            return np.flatnonzero(masks != self.masks).tolist()\n", "            return []\n"),
        ("        return None if found is None else sorted(found)\n", "        return ()\n"),
    ),
    *mutants(
        f"{FOLDER}plugin.py",
        PROPERTIES,
        ("        if skews is None or skews.version != version:\n", "        if skews is None:\n"),
    ),
    *mutants(
        f"{FOLDER}logarithm.py",
        SCORES,
        (
            "    return exponent * _LN2_HIGH - ((half_square",
            "    return math.log(count)\n    return exponent * _LN2_HIGH - ((half_square",
        ),
    ),
)
