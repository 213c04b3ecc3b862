"""Faults in the batch cache, in what its entries rest on, and in signatures: one for each input of a decision and each invalidation."""

from __future__ import annotations

from tests.mutations.mutant import Mutant

INPUTS = "tests/unit/core/test_batching_inputs.py"
BATCHING = "tests/unit/core/test_batching.py"
FAILURES = "tests/unit/core/test_batching_failures.py"
NOMINATED = "tests/unit/core/test_batching_nominated.py"
ENTRIES = "tests/unit/batch/test_entries.py"
HOLES = "tests/unit/batch/test_signature_holes.py"

MUTANTS = (
    # A row that leaves keeps holding the extremum.
    Mutant(
        "scheduler/profile/score_column.py",
        "self._extrema.leave(old)",
        "pass",
        (f"{INPUTS}::test_the_node_with_the_most_taints_enters_and_leaves",),
    ),
    # A row that enters does not move the extremum.
    Mutant(
        "scheduler/profile/score_column.py",
        "self._extrema.enter(score)",
        "pass",
        (f"{INPUTS}::test_the_most_taints_of_a_node_move_the_scores_of_others",),
    ),
    # The last holder that leaves does not take the extremum with it.
    Mutant(
        "scheduler/profile/extrema.py",
        "self._highest = int(np.count_nonzero(scores == self.high))",
        "self._highest = len(scores)",
        ("tests/unit/profile/test_extrema.py::test_the_last_holder_that_leaves_loses_the_value_and_no_other_does",),
    ),
    # An extremum without a holder is not looked for.
    Mutant(
        "scheduler/profile/score_column.py",
        "if self._extrema.is_lost:",
        "if False:",
        (f"{INPUTS}::test_one_of_two_nodes_with_the_most_taints_leaves",),
    ),
    # A moved extremum renormalises the changed row only.
    Mutant(
        "scheduler/profile/score_column.py",
        "return self._settled != before",
        "return False",
        (f"{INPUTS}::test_the_highest_preference_of_a_node_moves_the_scores_of_others",),
    ),
    # Extrema over all nodes, feasible or not.
    Mutant(
        "scheduler/profile/extrema.py",
        "scores = raw[feasible]",
        "scores = raw",
        ("tests/unit/profile/test_extrema.py::test_rows_that_are_not_feasible_do_not_count",),
    ),
    # A single node is not chosen without scores.
    Mutant(
        "scheduler/profile/evaluation.py",
        "if feasible_count == 1:\n            return int(self._filtering.feasible.argmax())",
        "if feasible_count == 1 and self._scoring is not None:\n            return int(self._scoring.keyed.argmax())",
        (f"{INPUTS}::test_a_last_node_is_taken_whatever_its_score",),
    ),
    # What was scored once is not scored again.
    Mutant(
        "scheduler/profile/evaluation.py",
        "self._refresh_scoring(self._table, self._filtering)",
        "self._refresh_scoring(self._table, self._filtering) if self._scoring._position < 0 else None",
        (f"{INPUTS}::test_the_most_taints_of_a_node_move_the_scores_of_others",),
    ),
    # The number of feasible nodes is not followed.
    Mutant(
        "scheduler/profile/filtering.py",
        "self.feasible_count += fits - self.feasible_cells[row]",
        "pass",
        (f"{INPUTS}::test_without_a_node_the_entry_says_why",),
    ),
    # The number of nodes is not part of ImageLocality's inputs.
    Mutant(
        "scheduler/plugins/image_locality.py",
        "return (nodes.total_nodes, *(",
        "return (0, *(",
        (f"{INPUTS}::test_the_number_of_nodes_moves_the_scores_of_all",),
    ),
    # The holders of an image are not part of ImageLocality's inputs.
    Mutant(
        "scheduler/plugins/image_locality.py",
        "*(nodes.image_version(name) for name in _images(state, pod)))",
        "*(0 for name in _images(state, pod)))",
        (f"{INPUTS}::test_another_holder_of_the_image_moves_the_scores_of_all",),
    ),
    # A changed input beyond the row is not noticed.
    Mutant(
        "scheduler/profile/score_column.py",
        "return self._token_now() != self._token",
        "return False",
        (f"{INPUTS}::test_another_holder_of_the_image_moves_the_scores_of_all",),
    ),
    # Inputs beyond the row are not looked at when few rows changed.
    Mutant(
        "scheduler/profile/scoring.py",
        "if seen & self._input_facets or (moved and self._reads_feasible):",
        "if False:",
        (f"{INPUTS}::test_another_holder_of_the_image_moves_the_scores_of_all",),
    ),
    # A change of a node's images is not news to those who count holders.
    Mutant(
        "scheduler/framework/facet.py",
        '"nodes that hold an image", Facet.IMAGES',
        '"nodes that hold an image", Facet.NAME',
        (f"{INPUTS}::test_another_holder_of_the_image_moves_the_scores_of_all",),
    ),
    # A row that enters counts in the extrema of the touched plugins only.
    Mutant(
        "scheduler/profile/scoring.py",
        "self.columns if now else self._left_by[facets | _LEFT]",
        "self._touched_by[facets]",
        (f"{INPUTS}::test_the_node_with_the_most_taints_enters_and_leaves",),
    ),
    # A new node does not drop what is restricted to named nodes.
    Mutant(
        "scheduler/core/handlers.py",
        "state.batching.entries.node_added(stimulus.now)",
        "pass",
        (f"{BATCHING}::test_a_new_node_drops_an_entry_for_named_nodes",),
    ),
    # Every new node drops every entry.
    Mutant(
        "scheduler/batch/entries.py",
        "if entry.evaluation.is_restricted]",
        "]",
        (f"{ENTRIES}::test_a_new_node_drops_what_is_restricted_to_named_nodes",),
    ),
    # Pods for one named node are kept.
    Mutant(
        "scheduler/profile/evaluation.py",
        "return self._table.node_count < _FEWEST or self._has_several_nodes()",
        "return True",
        (f"{BATCHING}::test_pods_for_one_named_node_of_several_leave_nothing_behind",),
    ),
    # Nominated pods are looked at when nothing is cached only.
    Mutant(
        "scheduler/core/batching.py",
        "if self._nominator.node_of or avoided else",
        "if avoided else",
        (f"{NOMINATED}::test_the_best_node_is_kept_for_a_nominated_pod",),
    ),
    # Nominated pods of any priority are ahead.
    Mutant(
        "scheduler/queue/nominator.py",
        "one.uid != pod.uid and one.priority >= pod.priority",
        "one.uid != pod.uid",
        (f"{NOMINATED}::test_a_pod_of_a_higher_priority_does_not_leave_room_and_shares_the_entry",),
    ),
    # A node kept for others still counts in the extrema.
    Mutant(
        "scheduler/profile/score_column.py",
        "extrema.find(raw, feasible, is_counted=False)",
        "extrema = self._extrema",
        (f"{NOMINATED}::test_the_worst_node_that_leaves_moves_the_choice_between_the_others",),
    ),
    # A node kept for others is written into the entry.
    Mutant(
        "scheduler/profile/evaluation.py",
        "feasible = self._filtering.feasible.copy()",
        "feasible = self._filtering.feasible",
        (f"{NOMINATED}::test_the_entry_is_as_it_was_once_the_nomination_is_gone",),
    ),
    # A pod's own nomination is not tried first.
    Mutant(
        "scheduler/core/batching.py",
        "row = self._nominated_row(pod, evaluation, instead)",
        "row = None",
        (f"{BATCHING}::test_a_pod_with_a_nomination_tries_that_node_first_and_drops_nothing",),
    ),
    # A pod with a nomination uses an entry.
    Mutant(
        "scheduler/core/batching.py",
        "if queued.pod.pod.status.nominated_node_name:\n            return Bypass.POD_NOMINATED",
        "",
        (f"{BATCHING}::test_a_pod_with_a_nomination_tries_that_node_first_and_drops_nothing",),
    ),
    # What other objects make of a pod does not tell it apart.
    Mutant(
        "scheduler/core/batching.py",
        "return Key(signature, profile.sign_cluster(queued.pod, self._cache.table))",
        "return Key(signature, ())",
        (f"{BATCHING}::test_pods_that_other_objects_make_something_else_of_have_entries_of_their_own",),
    ),
    # Profiles share signatures.
    Mutant(
        "scheduler/framework/signature.py",
        "key = (scheduler_name, fragments)",
        'key = ("", fragments)',
        ("tests/unit/framework/test_signature.py::test_profiles_do_not_share_signatures",),
    ),
    # Entries do not expire.
    Mutant(
        "scheduler/batch/entries.py",
        "if self._max_age_seconds and not 0 <= now - entry.created <= self._max_age_seconds:",
        "if False:",
        (f"{BATCHING}::test_an_entry_that_is_too_old_is_made_anew",),
    ),
    # A clock that is set back makes an entry young.
    Mutant(
        "scheduler/batch/entries.py",
        "and not 0 <= now - entry.created <= self",
        "and not now - entry.created <= self",
        (f"{BATCHING}::test_a_clock_that_was_set_back_drops_the_entry",),
    ),
    # Use does not keep an entry.
    Mutant(
        "scheduler/batch/entries.py",
        "self._entries.move_to_end(key)\n        return entry\n\n    def was_seen",
        "return entry\n\n    def was_seen",
        (f"{ENTRIES}::test_the_one_that_was_not_used_for_longest_makes_room",),
    ),
    # The pods that an entry served were not seen.
    Mutant(
        "scheduler/batch/entries.py",
        "            self._note(key, entry.used)\n",
        "",
        (f"{ENTRIES}::test_pods_that_used_an_entry_were_seen_once_it_is_gone",),
    ),
    Mutant(
        "scheduler/batch/entries.py",
        "        entry.used = now\n",
        "",
        (f"{ENTRIES}::test_pods_that_used_an_entry_were_seen_once_it_is_gone",),
    ),
    # Other shares of the decisions are checked than asked for.
    Mutant(
        "scheduler/core/chance.py",
        "math.log1p(-fraction))[1]",
        "math.log1p(-fraction))[1] + 1",
        ("tests/unit/core/test_chance.py",),
    ),
    Mutant(
        "scheduler/core/batching.py",
        "                    self._until_check -= 1\n",
        "",
        (f"{FAILURES}::test_as_many_go_by_unchecked_as_was_drawn",),
    ),
    Mutant(
        "scheduler/core/batching.py",
        "                self._until_check = until_next(self._verify_fraction, self._chance())\n",
        "",
        (f"{FAILURES}::test_as_many_go_by_unchecked_as_was_drawn",),
    ),
    # An evaluation is kept whether a pod of its shape is expected or not.
    Mutant(
        "scheduler/core/batching.py",
        "if is_expected_again and decision",
        "if decision",
        (f"{BATCHING}::test_a_shape_that_came_once_and_waits_no_more_is_not_kept",),
    ),
    # An entry stays after a plugin failed in it.
    Mutant(
        "scheduler/core/batching.py",
        "            self.entries.drop(entry.key, _FLUSH_OF_STAGE[failure.stage], now)\n            return None",
        "            return None",
        (f"{FAILURES}::test_a_plugin_that_fails_while_a_row_is_refreshed_ends_the_entry_and_not_the_pod",),
    ),
    # A check that finds another decision changes nothing.
    Mutant(
        "scheduler/core/batching.py",
        "return replace(fresh, batch=decision.batch, mismatch=mismatch, is_checked=True)",
        "return decision",
        (f"{FAILURES}::test_a_wrong_plugin_is_caught_and_the_pod_gets_the_right_node",),
    ),
    # Batching goes on after a check found another decision.
    Mutant(
        "scheduler/core/batching.py",
        'self.off[name] = f"verification found another decision: {difference}"',
        "pass",
        (f"{FAILURES}::test_a_wrong_plugin_is_caught_and_the_pod_gets_the_right_node",),
    ),
    # A check does not compare reasons.
    Mutant(
        "scheduler/profile/evaluation.py",
        "if row is None and self._filtering.differs(other._filtering, self._table.live):",
        "if False:",
        (f"{FAILURES}::test_a_check_sees_a_refusal_for_another_reason",),
    ),
    # A reader who looked away too long is told of what is left.
    Mutant(
        "scheduler/cache/journal.py",
        "        if self.position - position > self._capacity:\n            return None\n",
        "        position = max(position, self.position - self._capacity)\n",
        (f"{INPUTS}::test_an_entry_that_was_not_used_for_too_many_changes_is_brought_up_to_date_all_the_same",),
    ),
    Mutant(
        "scheduler/cache/journal.py",
        "if count > most or count > self._capacity:",
        "if count > most:",
        ("tests/unit/cache/test_journal.py::test_a_position_whose_changes_were_overwritten_is_unknown",),
    ),
    # Another node in the row of one that is gone is taken for that one.
    Mutant(
        "scheduler/profile/changed_rows.py",
        "return int(plugin.facets | Facet.NAME)",
        "return int(plugin.facets)",
        (f"{INPUTS}::test_a_plugin_that_reads_nothing_of_a_node_is_asked_about_a_new_one",),
    ),
    # A taint on a node is not noticed.
    Mutant(
        "scheduler/cache/node_table.py",
        "changed |= Facet.TAINTS",
        "pass",
        (f"{INPUTS}::test_a_node_that_became_unfit_is_not_offered",),
    ),
    # A cordon is not noticed.
    Mutant(
        "scheduler/cache/node_table.py",
        "changed |= Facet.UNSCHEDULABLE",
        "pass",
        (f"{INPUTS}::test_a_node_that_became_unfit_is_not_offered",),
    ),
    # Labels of a node are not noticed.
    Mutant(
        "scheduler/cache/node_table.py",
        "changed |= Facet.LABELS",
        "pass",
        (f"{INPUTS}::test_a_node_that_became_unfit_is_not_offered",),
    ),
    # Allocatable amounts are not noticed.
    Mutant(
        "scheduler/cache/node_table.py",
        "changed |= Facet.RESOURCES",
        "pass",
        (f"{INPUTS}::test_a_node_that_became_unfit_is_not_offered",),
    ),
    # A node that loses an image goes unnoticed.
    Mutant(
        "scheduler/cache/images.py",
        "                del sizes[row]\n                self._note(name)\n",
        "                del sizes[row]\n",
        (f"{INPUTS}::test_another_holder_of_the_image_moves_the_scores_of_all",),
    ),
    # Host ports of a pod that comes are not noticed.
    Mutant(
        "scheduler/framework/pod_info.py",
        "            if self.host_ports:\n                facets |= _PORTS\n",
        "",
        (f"{INPUTS}::test_a_host_port_that_a_pod_took_is_taken_until_that_pod_is_gone",),
    ),
    # Heartbeats are changes.
    Mutant(
        "scheduler/cache/node_table.py",
        "            if changed:\n                self._record(row, int(changed))\n            return old",
        "            self._record(row, int(changed))\n            return old",
        (f"{BATCHING}::test_heartbeats_cost_an_entry_nothing",),
    ),
    # Ties in an entry are decided by row.
    Mutant(
        "scheduler/profile/scoring.py",
        "(total << TIE_KEY_BITS) + table.tie_key(row)",
        "(total << TIE_KEY_BITS)",
        (f"{INPUTS}::test_ties_are_decided_as_in_a_full_evaluation",),
    ),
    # The protocol of a host port is not signed.
    Mutant(
        "scheduler/plugins/node_ports.py",
        "(port.host_ip, port.protocol, port.port) for port",
        '(port.host_ip, "", port.port) for port',
        (HOLES,),
    ),
    # An image twice is signed like once.
    Mutant(
        "scheduler/plugins/image_locality.py",
        "return tuple(sorted(normalized_image_name(name) for name in pod.images))",
        "return tuple(sorted({normalized_image_name(name) for name in pod.images}))",
        (HOLES,),
    ),
)
