"""``reprise evaluate --jsonl``: what an answer has."""

from __future__ import annotations

from tests.support.plain_lines import SUCCESS, Json, full, last, node, pod


def test_a_full_answer() -> None:
    answer = last(full(node("n1"), node("n2", cpu="0"), node("n3", spec={"unschedulable": True}), node("n4", cpu="8")))

    assert answer["prefilter"] == SUCCESS
    assert answer["filter"] == {
        "n1": SUCCESS,
        "n2": {"code": "UnschedulableAndUnresolvable", "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"]},
        "n3": {
            "code": "UnschedulableAndUnresolvable",
            "plugin": "NodeUnschedulable",
            "reasons": ["node(s) were unschedulable"],
        },
        "n4": SUCCESS,
    }
    # Least allocated, by hand: n1 (75 + 97) // 2, n4 (87 + 97) // 2; the other plugins see no difference.
    assert answer["scores"]["n1"]["NodeResourcesFit"] == {"raw": 86, "weighted": 86}
    assert answer["scores"]["n4"]["NodeResourcesFit"] == {"raw": 92, "weighted": 92}
    assert answer["scores"]["n1"]["TaintToleration"] == {"raw": 0, "weighted": 300}
    assert "NodeAffinity" not in answer["scores"]["n1"]
    assert answer["totals"] == {
        name: sum(score["weighted"] for score in answer["scores"][name].values()) for name in ("n1", "n4")
    }
    assert answer["best"] == ["n4"]
    assert "scored" not in answer


def test_all_of_the_best_are_listed_by_name() -> None:
    assert last(full(node("b"), node("a"), node("c", cpu="2")))["best"] == ["a", "b"]


def test_a_single_node_is_scored_here_though_a_cycle_would_not() -> None:
    answer = last(full(node("n1")))

    assert answer["scored"] is False
    assert answer["scores"]["n1"]["NodeResourcesFit"]["raw"] == 86
    assert answer["best"] == ["n1"]


def test_a_single_node_that_cannot_be_scored_is_the_best() -> None:
    affinity = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Nope"}]}}
            ]
        }
    }
    subject = pod(affinity=affinity)
    answer = last(full(node("n1"), subject=subject))
    assert {key: answer[key] for key in ("scored", "scores", "totals", "best")} == {
        "scored": False,
        "scores": {},
        "totals": {},
        "best": ["n1"],
    }

    assert last(full(node("n1"), node("n2"), subject=subject))["error"].startswith(
        'running PreScore plugin "NodeAffinity": '
    )


def test_nothing_fits() -> None:
    answer = last(full(node("n1", cpu="0")))

    assert (answer["scores"], answer["totals"], answer["best"]) == ({}, {}, [])
    assert "scored" not in answer


def test_without_nodes() -> None:
    assert last(full()) == {"prefilter": SUCCESS, "filter": {}, "scores": {}, "totals": {}, "best": []}


def named_by_affinity(*names: str) -> Json:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}] if names else []
    twice = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]}
    required = {"nodeSelectorTerms": terms or [twice]}
    return pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})


def test_a_prefilter_that_rejects_is_the_whole_answer() -> None:
    assert last(full(node("n1"), subject=named_by_affinity())) == {
        "prefilter": {
            "code": "UnschedulableAndUnresolvable",
            "plugin": "NodeAffinity",
            "reasons": ["pod affinity terms conflict"],
        }
    }


def test_a_node_outside_of_the_prefilter_result_is_refused_by_no_plugin() -> None:
    answer = last(full(node("n1"), node("n2"), subject=named_by_affinity("n2")))

    assert answer["filter"]["n1"] == {
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
    }
    assert answer["best"] == ["n2"]


def test_a_pod_that_must_be_refused_is_an_error_that_names_the_rule() -> None:
    claims = [{"name": "gpu", "resourceClaimName": "gpu"}]

    assert last(full(node(), subject=pod(resourceClaims=claims))) == {
        "error": "pod needs spec.resourceClaims, and DynamicResources is not implemented yet: "
        "use another scheduler for this pod"
    }
