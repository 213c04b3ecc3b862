"""Faults in the rules about pods near other pods, and in what is kept of the terms of pods on nodes."""

from __future__ import annotations

from tests.mutations.mutant import mutants

FOLDER = "scheduler/plugins/inter_pod_affinity/"
UNIT = "tests/unit/plugins/test_inter_pod_affinity"
FILTER, SCORES, RENEWAL = f"{UNIT}.py", f"{UNIT}_scores.py", f"{UNIT}_renewal.py"
BATCHING = "tests/unit/core/test_batching_affinity.py"
TERMS = "tests/unit/cache/test_pod_terms.py"

MUTANTS = (
    *mutants(
        f"{FOLDER}required.py",
        FILTER,
        ("return has_all_keys(self.affinity, nodes) if self.is_first else", "return"),
        (
            "self._own.matches_itself and all(each.is_empty for each in self.affinity)",
            "all(each.is_empty for each in self.affinity)",
        ),
        ("self._own.matches_itself and all(each.is_empty for each in self.affinity)", "self._own.matches_itself"),
        ("existing if against is None else existing & ops.not_(against)", "existing"),
        ("and all(each.is_empty for each in self.existing)", "and not self.existing"),
    ),
    *mutants(
        f"{FOLDER}required.py",
        RENEWAL,
        ("versions = [version, nodes.domain_version, own", "versions = [version, own"),
        ("    versions += [nodes.term_version(held) for held in matched]\n", ""),
        ("    versions += [nodes.matching_version(each.match) for each in own.anti_affinity]\n", ""),
        ("        versions.append(nodes.matching_version(own.affinity))\n", "        pass\n"),
        ("are_many = are_many or was_first != self.is_first", "pass"),
        ("return self._version == nodes.domain_version and", "return"),
        ("self._own is own and self._matched is matched", "self._matched is matched"),
        ("self._own is own and self._matched is matched", "self._own is own"),
        ("                found.update(rows)\n", "                pass\n"),
    ),
    *mutants(
        f"{FOLDER}preferred.py",
        SCORES,
        ("return args.hard_pod_affinity_weight or None", "return args.hard_pod_affinity_weight"),
        ("return args.hard_pod_affinity_weight or None", "return 1"),
        ("and not pod.affinity_terms.preferred", ""),
    ),
    *mutants(
        f"{FOLDER}preferred.py",
        RENEWAL,
        ("    versions += [nodes.matching_version(each.match) for each in own.preferred]\n", ""),
        ("versions = [version, nodes.domain_version, own", "versions = [version, own"),
    ),
    *mutants(
        f"{FOLDER}domains.py",
        f"{FILTER} {SCORES}",
        ("    by_id[0] = 0\n", ""),
        ("where=True if of.labelled is None else of.labelled", "where=True"),
        ("        found = found & each.of(nodes)\n", "        found = found | each.of(nodes)\n"),
    ),
    *mutants(
        f"{FOLDER}domains.py",
        RENEWAL,
        ("if found is None or found.version != nodes.domain_version:", "if found is None:"),
        ("            if holds != self._cells[domain]:\n", "            if holds:\n"),
        ("                self._count += 1 if holds else -1\n", ""),
    ),
    *mutants(
        f"{FOLDER}matching.py",
        f"{FILTER} {RENEWAL}",
        ("        return PodSelection(None, term.labels)\n", "        return PodSelection(frozenset(), term.labels)\n"),
        ("or known.namespaces_version == nodes.namespaces_version", "or True"),
        ("if known is None or known.version != version:", "if known is None:"),
        ("held for held in terms if held.term.labels.matches(labels)", "held for held in terms"),
        ("        names |= nodes.matching_namespaces(term.namespace_selector)\n", "        pass\n"),
    ),
    *mutants(
        f"{FOLDER}plugin.py",
        f"{FILTER} {SCORES}",
        ("PreFilterResult(SKIP if found.is_empty else SUCCESS)", "PreFilterResult(SUCCESS)"),
        (
            "return ops.to_int(float(MAX_NODE_SCORE) * share)",
            "return ops.div_trunc(ops.sub(scores, low) * MAX_NODE_SCORE, high - low)",
        ),
        ("        return SUCCESS if found else SKIP\n", "        return SUCCESS\n"),
    ),
    *mutants(
        f"{FOLDER}plugin.py",
        f"{BATCHING} tests/unit/batch/test_signature_holes.py",
        (
            "(term, term.labels.matches(labels)) for term in terms.required_affinity",
            "(term, True) for term in terms.required_affinity",
        ),
        ("            metadata.namespace,\n            tuple(sorted((term", "            tuple(sorted((term"),
        ("tuple(sorted(terms.preferred)),", ""),
        ("return (keys, tuple([labels.get(key) for key in keys]))", "return tuple([labels.get(key) for key in keys])"),
        (
            "return (keys, tuple([labels.get(key) for key in keys]))",
            'return (keys, tuple([labels.get(key, "") for key in keys]))',
        ),
        ("return (keys, tuple([labels.get(key) for key in keys]))", "return (tuple(sorted(labels.items())),)"),
        ("(is_own and nodes.selects_namespaces) or depends_on_namespaces(pod)", "depends_on_namespaces(pod)"),
        ("(is_own and nodes.selects_namespaces) or depends_on_namespaces(pod)", "is_own and nodes.selects_namespaces"),
        ("is_own = name == pod.pod.metadata.namespace", "is_own = True"),
    ),
    *mutants(
        "scheduler/cache/pod_terms.py",
        TERMS,
        (
            "            holders.column.cells[row] = number\n        holders.version",
            "            pass\n        holders.version",
        ),
        ("        holders.version = self._next_version()\n", ""),
        ("        self._by_selector.pop(held, None)\n", ""),
        ("                answer.is_fresh = False\n", "                pass\n"),
        ("or answer.namespaces_version != self._namespaces.version", ""),
        ("                oldest.column = None\n", "                pass\n"),
        ("            holders.column.grow(capacity)\n", "            pass\n"),
        ("        return self._next_version() if terms else 0\n", "        return self._next_version()\n"),
        (
            "        return before if found == before else found\n",
            "        return found._replace(scored_version=self._next_version())\n",
        ),
    ),
    *mutants(
        "scheduler/framework/domain_sums.py",
        "tests/unit/framework/test_domain_sums.py",
        ("                if domain:\n", "                if True:\n"),
        (
            "                    before.setdefault(domain, self.cells[domain])\n",
            "                    before[domain] = 0\n",
        ),
        ("        values[0] = 0\n", ""),
        ("                self._add_up(nodes)\n                return None\n", "                return None\n"),
    ),
    *mutants(
        "scheduler/framework/domain_rows.py",
        "tests/unit/framework/test_domain_rows.py",
        ("            if count == 1:\n", "            if count:\n"),
        ("most = max(FEW, len(self.ids) // SHARE)", "most = FEW"),
        ("most = max(FEW, len(self.ids) // SHARE)", "most = len(self.ids)"),
    ),
    *mutants(
        "scheduler/cache/change_log.py",
        "tests/unit/cache/test_change_log.py",
        ("            self._complete_since = self._changes[0][0]\n", "            pass\n"),
        ("            if led_to <= version:\n", "            if led_to < version:\n"),
        ("        if version < self._complete_since:\n", "        if False:\n"),
    ),
    *mutants(
        "scheduler/cache/pod_terms.py",
        "tests/unit/framework/test_domain_sums.py",
        ("            return 0, None if version else []\n", "            return 0, []\n"),
        (
            "            holders = self._holders[held] = _Holders(self._next_version())\n",
            "            holders = self._holders[held] = _Holders(0)\n",
        ),
        ("        holders.log.note(holders.version, row, change)\n", ""),
    ),
    *mutants(
        "scheduler/cache/node_table.py",
        f"{TERMS} {RENEWAL} tests/edge/app/test_evaluate_state.py",
        ("            self.terms.remove(row, old)\n            self.terms.add(row, new)\n", ""),
        ("            self._journal.record(0, _NAMESPACES)\n", "            pass\n"),
        ("        self.terms.grow(capacity)\n", ""),
    ),
    *mutants(
        "scheduler/cache/namespaces.py",
        "tests/unit/cache/test_namespaces.py",
        ("        self._answers.clear()\n\n    def labels", "\n    def labels"),
        ("        if self._labels.get(name) == labels:\n            return False\n", ""),
    ),
    *mutants(
        "scheduler/framework/affinity_terms.py",
        "tests/unit/framework/test_affinity_terms.py",
        ("if not names and term.namespace_selector is None:", "if not names:"),
        ('        errors.append(f"{name}: {error}")\n        return ()\n', "        return ()\n"),
        ("weighted(-1), anti_affinity.preferred", "weighted(1), anti_affinity.preferred"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        BATCHING,
        ("        state.batching.entries.namespace_changed(metadata.name, stimulus.now)\n", "        pass\n"),
        (
            "        state.batching.entries.namespace_changed(stimulus.name, stimulus.now)\n",
            "        pass\n",
        ),
    ),
)
