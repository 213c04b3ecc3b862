"""``reprise evaluate FILE``: a table for people, an answer for programs, and errors that say what to do."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from scheduler.app.cli import main
from tests.support.plain_lines import full, node, pod

Json = dict[str, Any]
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cluster.json"


def write(file: Path, *objects: Json) -> None:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")]


def test_a_table_has_scores_of_nodes_that_fit_and_reasons_of_the_others(file: Path, capsys: Captured) -> None:
    write(file, node("a-small", cpu="2"), node("z-large", cpu="8"), node("full", cpu="0"), pod("web"))

    assert main(["evaluate", str(file), "--pod", "default/web"]) == 0
    out = capsys.readouterr().out
    header, refused_row = (
        next(line for line in out.splitlines() if word in line) for word in ("REFUSED BY", "Insufficient")
    )
    assert refused_row.index("NodeResourcesFit") == header.index("REFUSED BY")
    printed = lines(out)
    assert printed[0] == "pod default/web, profile reprise"
    assert printed[1] == (
        "NODE TOTAL TaintToleration NodeResourcesFit VolumeBinding NodeResourcesBalancedAllocation ImageLocality "
        "REFUSED BY CODE REASONS"
    )
    assert printed[2].startswith("z-large ")
    assert " 0 -> 300 " in printed[2]
    assert printed[3].startswith("a-small ")
    assert printed[4] == "full NodeResourcesFit UnschedulableAndUnresolvable Insufficient cpu"
    assert printed[5] == "best: z-large"
    assert len(printed) == 6


def test_a_table_says_that_a_bound_pod_is_looked_at_as_pending(file: Path, capsys: Captured) -> None:
    write(file, node("n1"), pod("web", cpu="4", node_name="n1"))

    assert main(["evaluate", str(file), "--pod", "default/web"]) == 0
    printed = lines(capsys.readouterr().out)
    assert printed[1] == "bound to n1; evaluated as if it were pending"
    assert printed[-1] == "best: n1 (the only one that fits, taken without scoring)"


def test_a_table_cuts_nothing_however_narrow_the_terminal(
    file: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = "ip-10-0-0-17.eu-central-1.compute.internal-and-a-good-deal-more-to-come-after-it"
    asked = {"name": "c", "resources": {"requests": {"cpu": "1", "example.com/a-resource-of-a-long-name": "1"}}}
    write(file, node(long), node("n2", cpu="0"), pod("web", containers=[asked]))

    assert main(["evaluate", str(file), "--pod", "default/web"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert all(line == line.rstrip() for line in printed)
    assert [line.split()[0] for line in printed if "Insufficient" in line] == [long, "n2"]
    assert "Insufficient example.com/a-resource-of-a-long-name" in next(line for line in printed if long in line)
    assert "Insufficient cpu, Insufficient example.com/a-resource-of-a-long-name" in printed[-3]


def test_a_table_says_that_a_gated_pod_waits_for_its_gates(file: Path, capsys: Captured) -> None:
    write(file, node("n1"), pod("web", schedulingGates=[{"name": "quota"}, {"name": "licence"}]))

    assert main(["evaluate", str(file), "--pod", "default/web"]) == 0
    printed = lines(capsys.readouterr().out)
    assert printed[1] == (
        "waiting for scheduling gates: [quota licence] (SchedulingGates, UnschedulableAndUnresolvable); "
        "evaluated as if it were not"
    )
    assert printed[-1] == "best: n1 (the only one that fits, taken without scoring)"


def test_a_table_says_that_no_node_fits(file: Path, capsys: Captured) -> None:
    write(file, node("n1", cpu="0"), pod("web"))

    assert main(["evaluate", str(file), "--pod", "default/web"]) == 0
    assert lines(capsys.readouterr().out)[-1] == "no node fits"


def test_a_prefilter_that_rejects_is_told_without_a_table(file: Path, capsys: Captured) -> None:
    names = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
    required = {"nodeSelectorTerms": [{"matchFields": names}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    write(file, node("n1"), pod("web", affinity=affinity))

    assert main(["evaluate", str(file), "--pod", "default/web"]) == 0
    assert lines(capsys.readouterr().out)[1:] == [
        "no node can fit: pod affinity terms conflict (NodeAffinity, UnschedulableAndUnresolvable)"
    ]


def test_json_is_the_answer_of_a_line(file: Path, capsys: Captured) -> None:
    from scheduler.app.evaluate_jsonl import answer_lines

    objects = (node("n1"), node("n2", cpu="2"), pod("other", cpu="1", node_name="n2"), pod("web"))
    write(file, *objects)

    assert main(["evaluate", str(file), "--pod", "default/web", "--output", "json"]) == 0
    (line,) = answer_lines([json.dumps(full(*objects)).encode()])
    assert json.loads(capsys.readouterr().out) == json.loads(line)


def test_the_file_may_be_standard_input(file: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    write(file, node("n1"), pod("web"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))

    assert main(["evaluate", "-", "--pod", "default/web"]) == 0
    assert "best: n1" in capsys.readouterr().out


def test_a_configuration_chooses_plugins(file: Path, tmp_path: Path, capsys: Captured) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: default-scheduler\n  plugins: {filter: {disabled: [{name: NodeUnschedulable}]}}\n"
    )
    write(file, node("n1", spec={"unschedulable": True}), pod("web"))

    assert main(["evaluate", str(file), "--pod", "default/web", "--config", str(config)]) == 0
    assert lines(capsys.readouterr().out)[0] == "pod default/web, profile default-scheduler"


def test_of_several_pods_of_the_name_the_last_counts(file: Path, capsys: Captured) -> None:
    write(file, node("n1"), pod("web", uid="1", cpu="9"), pod("web", uid="2", cpu="1"))

    assert main(["evaluate", str(file), "--pod", "default/web", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"] == ["n1"]


def refused(arguments: list[str], capsys: Captured) -> str:
    """What is said on standard error of input that cannot be used."""
    assert main(["evaluate", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.strip()


def test_a_pod_that_is_not_there_is_named(file: Path, capsys: Captured) -> None:
    write(file, node("n1"), pod("web"))

    text = refused([str(file), "--pod", "default/other"], capsys)
    assert text == "reprise evaluate: --pod default/other: not among the 1 pods of the file"


def test_a_pod_without_namespace_is_asked_for_as_it_should_be_written(file: Path, capsys: Captured) -> None:
    write(file, pod("web"))

    assert refused([str(file), "--pod", "web"], capsys) == "reprise evaluate: --pod web: expected NAMESPACE/NAME"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"?", "not JSON: JSON is malformed: invalid character (byte 0)"),
        (b"", "not JSON: Input data was truncated"),
        (b'{"a":"\xff"}', "not JSON: Invalid UTF-8 encoded string"),
        (b"[" * 100_000, "not JSON that a cluster could have written: it is nested too deeply"),
    ],
)
def test_a_file_that_is_not_json_says_how_to_write_it(file: Path, content: bytes, text: str, capsys: Captured) -> None:
    file.write_bytes(content)

    assert refused([str(file), "--pod", "default/web"], capsys) == (
        f"reprise evaluate: {file}: {text}: write it with `kubectl get nodes,pods,namespaces -A -o json`"
    )


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (
            {"kind": "Node", "metadata": {"name": "n1"}, "spec": []},
            "Node n1: Expected `object`, got `array` - at `$.spec`",
        ),
        ({"kind": "Node", "metadata": {"name": 5}}, "Node 5: Expected `str`, got `int` - at `$.metadata.name`"),
        (
            {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "1e4x"}}},
            "node n1: status.allocatable[cpu]: ",
        ),
        ({"metadata": {"name": "n1"}}, '.items[0].kind: expected a kind such as "Pod", got null'),
        (5, ".items[0]: expected a Kubernetes object, got a number"),
    ],
)
def test_an_object_that_cannot_be_read_is_named_with_its_field(
    file: Path, item: Any, text: str, capsys: Captured
) -> None:
    write(file, item, pod("web"))

    printed = refused([str(file), "--pod", "default/web"], capsys)
    assert printed.startswith(f"reprise evaluate: {file}{text}" if text[0] == "." else f"reprise evaluate: {text}")


def test_a_pod_that_must_be_refused_is_told_in_both_forms(file: Path, capsys: Captured) -> None:
    write(file, node("n1"), pod("web", resourceClaims=[{"name": "gpu"}]))
    text = (
        "pod needs spec.resourceClaims, and DynamicResources is not implemented yet: use another scheduler for this pod"
    )

    assert refused([str(file), "--pod", "default/web"], capsys) == f"reprise evaluate: {text}"
    assert main(["evaluate", str(file), "--pod", "default/web", "--output", "json"]) == 2
    assert json.loads(capsys.readouterr().out) == {"error": text}


def test_every_error_of_a_configuration_is_printed(file: Path, tmp_path: Path, capsys: Captured) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 0\nnope: 1\n"
    )
    write(file, pod("web"))

    assert refused([str(file), "--pod", "default/web", "--config", str(config)], capsys).splitlines() == [
        "nope: unknown field",
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
    ]


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, capsys: Captured) -> None:
    assert "No such file or directory" in refused([str(tmp_path / "absent"), "--pod", "a/b"], capsys)
    assert "Is a directory" in refused([str(tmp_path), "--pod", "a/b"], capsys)


@pytest.mark.parametrize("arguments", [["f"], ["--pod", "a/b"], []])
def test_a_file_and_a_pod_are_needed(arguments: list[str], capsys: Captured) -> None:
    assert refused(arguments, capsys) == (
        "reprise evaluate: give FILE and --pod NAMESPACE/NAME, or --jsonl; see `reprise evaluate --help`"
    )


@pytest.mark.parametrize("arguments", [["f"], ["--pod", "a/b"], ["--config", "c"]])
def test_lines_bring_everything_themselves(arguments: list[str], capsys: Captured) -> None:
    assert refused(["--jsonl", *arguments], capsys) == (
        "reprise evaluate: --jsonl reads everything from standard input: leave out FILE, --pod and --config"
    )
