"""Faults in evaluations: verdicts, scores, and what is kept of them."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/profile/test_"
REFRESH = f"{UNIT}evaluation_refresh.py"

MUTANTS = (
    *mutants(
        "scheduler/profile/evaluation.py",
        f"{UNIT}evaluation.py",
        (
            "                    return self._reject(_no_common_node(restricting), tuple(restricting))\n",
            "                    self._reject(_no_common_node(restricting), tuple(restricting))\n",
        ),
        ("names = result.node_names if names is None else names & result.node_names", "names = result.node_names"),
        (
            "            return self._reject(rejected, (*restricting, rejected.plugin))\n",
            "            return self._reject(rejected, (rejected.plugin,))\n",
        ),
        (
            "                self._skipped.add(plugin.name)\n            elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE",
            "                pass\n            elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE",
        ),
        (
            '            elif status.code is not Code.SUCCESS:\n                raise _failed("PreFilter"',
            '            elif status.code is Code.ERROR:\n                raise _failed("PreFilter"',
        ),
        ("        if feasible_count == 1:\n            return int(self._filtering.feasible.argmax())\n", ""),
        ("{*self.prefilter_rejectors, *self._filtering.rejectors(instead)}", "{*self._filtering.rejectors(instead)}"),
        (
            '", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))',
            '", ".join(f"{count} {reason}" for reason, count in counts.items())',
        ),
    ),
    *mutants(
        "scheduler/profile/evaluation.py",
        REFRESH,
        ("        if self._epoch != self._table.epoch:\n", "        if False:\n"),
        ("and self._closed_at != self._table.position and self._may_open", "and False"),
        ("            if self._filtering.is_void:\n", "            if False:\n"),
        ("or input_facets_of(plugin.filter_inputs(self._states[plugin.name], self._pod))\n", "\n"),
        ("or scored.plugin.score_inputs(self._states[scored.plugin.name], self._pod)\n", "\n"),
    ),
    *mutants(
        "scheduler/profile/filtering.py",
        f"{UNIT}filtering.py {UNIT}evaluation.py",
        ("np.any((first == FEASIBLE) | (first >= index))", "True"),
        ("            self._position = -1  # nothing is", "            pass  # nothing is"),
        ("        if has_failed:\n            #", "        if False:\n            #"),
        ("        if has_failed or self._can_fail:\n", "        if has_failed:\n"),
        ("        absent = int(np.count_nonzero((first == OUTSIDE) & table.live))\n", "        absent = 0\n"),
    ),
    *mutants(
        "scheduler/profile/filtering.py",
        REFRESH,
        ("        if not table.is_live(row):\n            return False\n", ""),
        (
            "        self.feasible_count += fits - self.feasible_cells[row]\n",
            "        self.feasible_count += fits\n",
        ),
        (
            "        elif isinstance(changes, Changes):\n            self._resize(table.size)\n",
            "        elif isinstance(changes, Changes):\n",
        ),
        ("            if not column.has_new_inputs():\n                continue\n", "            continue\n"),
        ("if self._is_old and column.has_new_inputs():", "if False:"),
        ("None if others is None else union(changes.rows, _ascending(others))", "changes.rows"),
        ("                few = merged(few, others)\n", "                pass\n"),
        (
            "            is_new = bool(facets & _NAME) or others is not None\n",
            "            is_new = bool(facets & _NAME)\n",
        ),
        ("        if self._first_version != self.version:\n", "        if self._first_version < 0:\n"),
        ("            self._inside[row] = fits\n        elif", "            pass\n        elif"),
        ("            feasible &= self._inside if rows is None else self._inside[rows]\n", "            pass\n"),
        ("return self._turned if self._turned_since == feasible_version else None", "return self._turned"),
    ),
    *mutants(
        "scheduler/profile/scoring.py",
        f"{UNIT}scoring.py {REFRESH}",
        ("(moved and one.reads_feasible) or", "False or"),
        ("                changes = merged(changes, turned)\n", "                pass\n"),
        ("                is_crowd = turned is None or bool(turned)\n", "                is_crowd = False\n"),
        (
            "        if not self._is_sound:\n            self._finish_all(table, feasible)  #",
            "        if False:\n            self._finish_all(table, feasible)  #",
        ),
        (
            "        if is_crowd:\n            for column in self._normalizing:\n",
            "        if False:\n            for column in self._normalizing:\n",
        ),
        ("column.facets | (_LEFT if column.normalizer else 0)", "column.facets"),
        ("            if self._is_old:\n", "            if False:\n"),
        ("                    if fits:\n", "                    if True:\n"),
        ("self._keyed_cells[row] = rank if fits else BELOW_ALL", "self._keyed_cells[row] = rank"),
        ("            rank = self._rank_cells[row] = (total", "            rank = (total"),
    ),
    *mutants(
        "scheduler/profile/changed_rows.py",
        f"{UNIT}filtering.py {UNIT}evaluation.py {REFRESH}",
        ("return int(plugin.facets | Facet.NAME)", "return int(plugin.facets)"),
        ("if facets & self._reads(column))", "if True)"),
        ("(changes.facets & facets) != 0]", "(changes.facets & facets) == 0]"),
    ),
    *mutants(
        "scheduler/profile/filter_column.py",
        f"{UNIT}filtering.py {UNIT}evaluation.py {REFRESH}",
        ("max((reason.code for reason in given), default=Code.UNSCHEDULABLE)", "given[0].code"),
        ("            self.skipped = result.status.code is Code.SKIP\n", ""),
        ("self.failure is None and was_skipped == self.skipped", "self.failure is None"),
        ("        if not whole and self", "        if self"),
        ("        self._token = self._new_token\n        if", "        if"),
    ),
    *mutants(
        "scheduler/profile/score_column.py",
        f"{UNIT}scoring.py {REFRESH}",
        ("return self._token_now() != self._token", "return False"),
        ("        return self._settled != before\n", "        return False\n"),
        (
            "            self.skipped = is_skipped(self._pre_score, self._state, self._pod, table, feasible, observer=self._observer)\n",
            "            pass\n",
        ),
        ("wrong = scores[(scores < 0) | (scores > MAX_NODE_SCORE)]", "wrong = scores[scores > MAX_NODE_SCORE]"),
    ),
    *mutants(
        "scheduler/profile/scoring.py",
        "tests/unit/core/test_cycle.py",
        ("BELOW_ALL = np.iinfo(np.int64).min", "BELOW_ALL = np.int64(-1)"),
    ),
    *mutants(
        "scheduler/profile/extrema.py",
        f"{UNIT}scoring.py {REFRESH}",
        ("        self._lowest -= score == self.low\n", ""),
        ("        self._highest -= score == self.high\n", ""),
        ("self._lowest <= 0 or self._highest <= 0", "self._lowest <= 0"),
    ),
    *mutants(
        "scheduler/profile/profile.py",
        f"{UNIT}profile.py",
        ("            if status.code is not Code.SUCCESS:\n", "            if status.code.is_rejected:\n"),
        ("isinstance(plugin, EnqueueExtensions) else _ANYTHING", "isinstance(plugin, EnqueueExtensions) else ()"),
        ("            fragments.append((plugin.name, fragment))\n", '            fragments.append(("", fragment))\n'),
    ),
    *mutants(
        "scheduler/profile/refusal.py",
        f"{UNIT}refusal.py",
        ("    if spec.resource_claims:\n", "    if False:\n"),
        ("if amount and (", "if ("),
        ("if _is_plain(pod) and not cache.has_device_classes:", "if _is_plain(pod):"),
    ),
)
