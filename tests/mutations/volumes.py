"""Faults in what is kept of storage, and in the rules for disks, limits and zones of volumes."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/plugins/test_"
OVER_TIME = f"{UNIT}volume_limits_over_time.py"
CACHE = "tests/unit/cache/test_storage.py"

ALONE = f"{UNIT}points_alone.py"

MUTANTS = (
    # What Filter finds where PreFilter is disabled.
    *mutants(
        "scheduler/profile/filter_column.py",
        ALONE,
        ("                    if self._pre_filter is None:\n", "                    if False:\n"),
    ),
    *mutants(
        "scheduler/plugins/volume_zone.py",
        ALONE,
        (
            "                return ops.bit(same_verdict(nodes, True), 1)\n",
            "                return ops.bit(same_verdict(nodes, True), 0)\n",
        ),
        ('                state["refusal"] = str(refusal)\n', "                pass\n"),
    ),
    *mutants(
        "scheduler/plugins/node_volume_limits/plugin.py",
        ALONE,
        (
            "            _prepare(state, pod, nodes)\n        plans",
            '            state["plans"], state["failures"] = (_Plan({}), _Plan({})), []\n        plans',
        ),
    ),
    *mutants(
        "scheduler/plugins/volume_restrictions.py",
        f"{UNIT}volume_restrictions.py",
        ("        if not disks and not _is_in_use(state, pod, nodes):\n", "        if not disks:\n"),
        ("ops.bit(ops.not_(taken), _IN_USE)", "ops.bit(same_verdict(nodes, True), _IN_USE)"),
        ("            if READ_WRITE_ONCE_POD in (claim.spec.access_modes or ()):\n", "            if True:\n"),
        ("            if claim is None:\n", "            if claim is None and not disks:\n"),
        ("        or volume.rbd is not None\n", ""),
        (
            "            taken = taken | nodes.disk_conflicts(volume)\n",
            "            taken = nodes.disk_conflicts(volume)\n",
        ),
    ),
    *mutants(
        "scheduler/plugins/volume_zone.py",
        f"{UNIT}volume_zone.py",
        ("return ops.bit(labelled & refused, 0)", "return ops.bit(refused, 0)"),
        ("((nodes.label(requirement.key) == 0) & instead)", "instead"),
        ("{_BETA_ZONE: _ZONE, _BETA_REGION: _REGION}", "{_BETA_ZONE: _ZONE, _BETA_REGION: _REGION, _ZONE: _BETA_ZONE}"),
        ("            if all(values):\n", "            if any(values):\n"),
        ("    if storage_class.volume_binding_mode != WAIT_FOR_FIRST_CONSUMER:\n", "    if False:\n"),
        ("            refused = refused | ops.not_(", "            refused = ops.not_("),
    ),
    *mutants(
        "scheduler/plugins/node_volume_limits/plugin.py",
        f"{UNIT}node_volume_limits.py",
        ("                more -= _flags(nodes.uses_volume(name))\n", "                pass\n"),
        ("            if of_driver == driver:\n", "            if True:\n"),
        ("(more > 0) & (held + more > ", "(held + more > "),
        ("(held + more > _column", "(held + more >= _column"),
        ("        exceeded |= (more > 0)", "        exceeded = (more > 0)"),
        ("masks[rows & exceeded & ~fails]", "masks[exceeded & ~fails]"),
        ("    for position in np.flatnonzero(rows & fails).tolist():\n", "    for position in ():\n"),
        ("            masks[rows & ~installed] =", "            masks[rows] ="),
        ("range(len(drivers) - 1, -1, -1)", "range(len(drivers))"),
    ),
    *mutants(
        "scheduler/framework/attached_volumes.py",
        f"{UNIT}node_volume_limits.py",
        ("        if is_new:\n", "        if True:\n"),
        ("and controller_of(claim) != pod.metadata.uid", "and False"),
        ("found.driver and found.handle", "found.driver"),
        ("return CSIVolume(spec.attacher, volume", "return CSIVolume(volume.spec.csi.driver, volume"),
    ),
    *mutants(
        "scheduler/framework/csi_translation.py",
        f"{UNIT}node_volume_limits.py",
        ("return has_csi_node and plugin in _COUNTED", "return plugin in _COUNTED"),
        ('if kind is not None and kind.lower() != "managed":', 'if kind is not None and kind != "Managed":'),
        ("    if len(regions) != 1:\n", "    if False:\n"),
    ),
    *mutants(
        "scheduler/cache/assumed_objects.py",
        "tests/unit/cache/test_assumed_objects.py",
        (
            "        if assumed is not None and assumed.metadata.resource_version != subject.metadata.resource_version:\n",
            "        if assumed is not None:\n",
        ),
        ("        if stored != version:\n", "        if False:\n"),
    ),
    *mutants(
        "scheduler/cache/storage.py",
        CACHE,
        ("            if subject.metadata.name in self.volumes.shown:\n", "            if False:\n"),
    ),
    *mutants(
        "scheduler/cache/volume_shelf.py",
        CACHE,
        (
            "name, class_name = volume.metadata.name, class_of_volume(volume)",
            "name, class_name = volume.metadata.name, volume.spec.storage_class_name",
        ),
    ),
    *mutants(
        "scheduler/cache/grouped_objects.py",
        CACHE,
        ("        there.is_sorted = there.is_sorted and key in there.items\n", ""),
        ("        there.items[key] = item\n        there.listed = None\n", "        there.items[key] = item\n"),
    ),
    *mutants(
        "scheduler/cache/volume_uses.py",
        CACHE,
        ("[users.writing if read_only else users.rows", "[users.rows"),
        ("            if not read_only:\n", "            if True:\n"),
    ),
    *mutants(
        "scheduler/cache/csi_columns.py",
        CACHE,
        (
            "return before is None or node is None or before.spec != node.spec",
            "return before is None",
        ),
        ("            driver.limits.grow(capacity)\n", ""),
    ),
    *mutants(
        "scheduler/cache/node_table.py",
        CACHE,
        ("        if (old.facets | new.facets) & VOLUMES:\n", "        if new.facets & VOLUMES:\n"),
        ("        self.csi.set(row, None)\n", ""),
        ("        self.volume_counts.update_attachments(self.storage.attachments_of(name), None)\n", ""),
    ),
    *mutants(
        "scheduler/cache/volume_counts.py",
        f"{CACHE} {OVER_TIME}",
        ("attachers[max(attachers)]", "attachers[min(attachers)]"),
        ("        if meaning == claim.meaning:\n", "        if meaning.volume == claim.meaning.volume:\n"),
        ("        self._enter_class(key, claim)\n        for row", "        for row"),
        ("            if not attachers:\n", "            if False:\n"),
        ("        for column in self._counts.values():\n", "        for column in ():\n"),
        ("        self.failing.grow(capacity)\n", ""),
        ("            return self.driver\n        attachers", "            pass\n        attachers"),
    ),
    *mutants(
        "scheduler/cache/cache.py",
        f"{OVER_TIME} {UNIT}node_volume_limits.py",
        ("                    counts.claim_changed(key_of(subject.metadata))\n", "                    pass\n"),
        ("                        counts.claim_changed(key_of(claim.metadata))\n", "                        pass\n"),
        (
            "                        self._attachment_changed(attachment.metadata.name)\n",
            "                        pass\n",
        ),
        ("                    counts.class_changed(subject.metadata.name)\n", "                    pass\n"),
    ),
    *mutants(
        "scheduler/core/storage_handlers.py",
        "tests/unit/core/test_storage_handlers.py",
        ("ActionType.ADD if known is None else ActionType.UPDATE", "ActionType.ADD"),
        ("    if known is None or known.metadata.uid != stimulus.uid:\n", "    if known is None:\n"),
    ),
    *mutants(
        "scheduler/app/evaluate_jsonl.py",
        "tests/edge/app/test_evaluate_state.py",
        ("if is_same and _is_kept_up_to_date(pod, profile) else None", "if is_same else None"),
    ),
    *mutants(
        "scheduler/kube/resources.py",
        "tests/edge/kube/test_storage_resources.py::test_only_kinds_that_a_plugin_names_are_watched_and_pods_last",
        ("if resource.kind.__name__ in wanted)", "if True)"),
    ),
)
