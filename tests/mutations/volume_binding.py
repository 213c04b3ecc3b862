"""Faults in what becomes of a pod's claims."""

from __future__ import annotations

from tests.mutations.mutant import mutants

FOLDER = "scheduler/plugins/volume_binding"
UNIT = "tests/unit/plugins/test_volume_binding"
NODES = f"{UNIT}.py"
CLAIMS = f"{UNIT}_claims.py"
STEPS = f"{UNIT}_steps.py"
COLUMNS = f"{UNIT}_properties.py"
OVER_TIME = f"{UNIT}_over_time.py"
RANKING = "tests/unit/framework/test_ranking.py"
SHELF = "tests/unit/cache/test_volume_shelf.py"
STORY = "tests/story/test_random_storage.py"

MUTANTS = (
    # Pods that wait for storage are woken by nothing but the flush.
    *mutants(
        f"{FOLDER}/plugin.py",
        STORY,
        ("            ClusterEvent(EventResource.PERSISTENT_VOLUME, either),\n", ""),
        ("            ClusterEvent(EventResource.STORAGE_CLASS, either),\n", ""),
    ),
    *mutants(
        "scheduler/plugins/node_volume_limits/plugin.py",
        STORY,
        ("return hints.after_csi_node_change(old, new)", "return Hint.SKIP"),
    ),
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
        ("if volume.kind.mode == claim.mode and volume.kind", "if volume.kind"),
        ("claim.mode and volume.kind.attributes_class == claim.attributes_class:", "claim.mode:"),
        ("                and kind.attributes_class == claim.attributes_class\n", ""),
        ("                kind.mode == claim.mode\n                and ", "                "),
        ("claim.access_modes <= kind.access_modes", "bool(claim.access_modes & kind.access_modes)"),
        ("if number is None or not is_bound_to(one, claim.object):", "if not is_bound_to(one, claim.object):"),
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
        "scheduler/framework/reach.py",
        f"{NODES} {COLUMNS}",
        ("term._replace(fields=())", "term"),
    ),
    *mutants(
        "scheduler/framework/ranking.py",
        f"{RANKING} {NODES} {COLUMNS} {OVER_TIME}",
        ("                position = position + (is_taken & (position < end))\n", "                break\n"),
        ("numbers = np.where(as_column(matches_term(self._rest, nodes)), numbers, 0)", "pass"),
        ("if values is not self._values or len(values)", "if len(values)"),
        ("len(values) != len(self._by_id) or self._known", "self._known"),
        (" or self._known != len(self._numbers):", ":"),
        ("np.sort(asked * width + ranks)", "asked * width + ranks"),
    ),
    *mutants(
        "scheduler/framework/volume_facts.py",
        f"{NODES} {COLUMNS} {OVER_TIME}",
        ("volume.status.phase == _AVAILABLE and ", ""),
        (" and not is_terminating\n", "\n"),
        ("spec.claim_ref is None", "True"),
        ("if before is not None and before.object.spec.node_affinity == spec.node_affinity:", "if before is not None:"),
    ),
    *mutants(
        "scheduler/cache/volume_shelf.py",
        f"{SHELF} {OVER_TIME}",
        ("if facts.size == before.size and facts.reach is before.reach:", "if facts.reach is before.reach:"),
        ("if facts.size == before.size and facts.reach is before.reach:", "if facts.size == before.size:"),
        ("            self._free.cells[known] = False\n", ""),
        ("        self._free.cells[self._numbers.pop(name)] = False\n", "        self._numbers.pop(name)\n"),
        ("        self._free.cells[number] = facts.is_free\n", "        self._free.cells[number] |= facts.is_free\n"),
        (
            "        if facts.is_free and not self._is_placed[number]:\n",
            "        if not self._is_placed[number] and number % 2:\n",
        ),
        ("(rank >= bisect_left(self._keys, (size,)))", "(rank >= 0)"),
        ("        is_wanted &= suitable[self._kind.values[:count]]\n", ""),
        ("np.sort(rank[numbers[is_wanted[numbers]]])", "rank[numbers[is_wanted[numbers]]]"),
        ("                self._keys.insert(position, key)\n", "                self._keys.append(key)\n"),
        ("np.insert(self._order, position, number)", "np.append(self._order, number)"),
        (
            "            everything = [*self._order.tolist(), *self._to_place]\n",
            "            everything = self._to_place\n",
        ),
        ("        if self._class_of.get(name, class_name) != class_name:\n", "        if False:\n"),
        ("            tuple(self._volumes),\n", "            self._volumes,\n"),
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
