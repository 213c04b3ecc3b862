"""What `python -m bench` takes, and what it says of what it does not take."""

from pathlib import Path

import pytest

from bench.__main__ import main, parser


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["compare", *arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_contestants_are_taken_in_the_order_given_and_once() -> None:
    options = parser().parse_args(["compare", "--contestants", "null,reprise,null"])

    assert options.contestants == ["null", "reprise"]


def test_without_options_all_contestants_run_on_a_thousand_nodes() -> None:
    options = parser().parse_args(["compare"])

    assert (options.nodes, options.contestants) == (1000, ["reprise", "default", "tuned", "null"])


def test_an_unknown_contestant_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'volcano' is none of reprise, default, tuned, null" in refused(capsys, "--contestants", "reprise,volcano")


@pytest.mark.parametrize("option", ["--nodes", "--pods", "--rounds"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_counts_are_whole_and_positive(capsys: pytest.CaptureFixture[str], option: str, value: str) -> None:
    assert f"argument {option}: expected a whole number above 0, got '{value}'" in refused(capsys, option, value)


def test_more_pods_than_the_nodes_hold_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    # 4 CPUs by 100m.
    assert "--pods: 2 nodes hold 80 of them, not 81" in refused(capsys, "--nodes=2", "--pods=81")


def test_one_pod_is_too_few(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--pods: at least 2" in refused(capsys, "--pods=1")


@pytest.fixture
def building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that builds nothing and fails; the file that it leaves when it has run."""
    script, ran = tmp_path / "build.sh", tmp_path / "ran"
    script.write_text(f"#!/bin/sh\ntouch {ran}\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setattr("bench.compare.BUILD", script)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "none"))
    return ran


def test_nothing_is_built_for_arguments_that_are_wrong(building: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, "--build", "--nodes=0")

    assert not building.exists()


def test_what_is_missing_is_built_first_and_a_failure_ends_it(building: Path) -> None:
    assert main(["compare", "--build"]) == 3
    assert building.exists()


def test_without_leave_to_build_what_is_missing_is_named(building: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare"]) == 1
    assert not building.exists()
    assert "needs the real etcd, kube-apiserver, kube-scheduler: run `make control-plane`" in capsys.readouterr().err
