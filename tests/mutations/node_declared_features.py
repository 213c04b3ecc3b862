"""Faults in the rule that a node must declare the features a pod needs."""

from __future__ import annotations

from tests.mutations.mutant import mutants

PLUGIN = "scheduler/plugins/node_declared_features.py"
TESTS = "tests/unit/plugins/test_node_declared_features.py"

MUTANTS = (
    *mutants(
        PLUGIN,
        TESTS,
        ("return PreFilterResult() if required else PreFilterResult(SKIP)", "return PreFilterResult()"),
        ("not required <= known_features(declared)", "not required & known_features(declared)"),
        ("if any(_restarts_all(one) for one in containers):", "if any(_restarts_all(one) for one in spec.containers):"),
        ("chain(containers, spec.ephemeral_containers or ())", "containers"),
        ("if spec.host_network and spec.host_users is False:", "if spec.host_network and not spec.host_users:"),
        (
            "            known.add(name)\n            position += 1\n",
            "            known.add(name)\n            position = 0\n",
        ),
        ("        return required_features(pod.pod.spec)\n\n", "        return ()\n\n"),
        ("ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE", "ActionType.UPDATE_NODE_DECLARED_FEATURE"),
    ),
    *mutants(
        "scheduler/cache/node_table.py",
        TESTS,
        ("            self.features.set(row, features_of(new))\n", ""),
    ),
    *mutants(
        "scheduler/cache/node_table.py",
        "tests/unit/cache/test_node_table.py",
        ("self.features.column, self._live", "self._live"),
        ("for interned in (self.taints, self.features):", "for interned in (self.taints,):"),
        (
            "_INTERNED = int(Facet.LABELS | Facet.TAINTS | Facet.FEATURES)",
            "_INTERNED = int(Facet.LABELS | Facet.TAINTS)",
        ),
    ),
)
