"""``reprise check-config``."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from scheduler.app.check_config import check, run
from tests.support.scheduler_configurations import HEADER

KUBE = "".join(f"{key}: {value}\n" for key, value in HEADER.items())
REPRISE = "apiVersion: reprise.dev/v1alpha1\nkind: RepriseConfiguration\n"
LEFT_OUT = "DynamicResources"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "configuration.yaml"


def options(file: Path, *, replace: bool = False) -> argparse.Namespace:
    return argparse.Namespace(file=file, replace_kube_scheduler=replace)


def test_every_error_is_printed_with_its_path(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(KUBE + "parallelism: 0\nprofiles:\n- schedulerName: default-scheduler\n  plugin: {}\n")

    code = run(options(file))

    printed = capsys.readouterr()
    assert code == 2
    assert printed.out.splitlines() == [
        "error: profiles[0].plugin: unknown field; did you mean plugins?",
        "error: parallelism: Invalid value: 0: should be an integer value greater than zero",
        (
            'error: profiles[0].schedulerName: Invalid value: "default-scheduler": this is the name of kube-scheduler\'s '
            "profile; choose another, or pass --replace-kube-scheduler if no kube-scheduler runs"
        ),
    ]
    assert printed.err == f"{file}: 3 errors\n"


def test_a_good_file_is_answered_with_the_plugins_of_each_profile(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(
        KUBE
        + "profiles:\n"
        + "- schedulerName: packing\n"
        + "  plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 5}]}}\n"
        + "- schedulerName: first-fit\n"
        + "  plugins:\n"
        + "    multiPoint:\n"
        + "      disabled: [{name: '*'}]\n"
        + "      enabled: [{name: PrioritySort}, {name: NodeResourcesFit}, {name: DefaultBinder}]\n"
        + "    score: {disabled: [{name: '*'}]}\n"
        + "    preScore: {disabled: [{name: '*'}]}\n"
    )

    code = run(options(file))

    filters = (
        "NodeName,NodeUnschedulable,TaintToleration,NodeAffinity,NodePorts,NodeResourcesFit,"
        "VolumeRestrictions,NodeVolumeLimits,VolumeBinding,VolumeZone,PodTopologySpread,InterPodAffinity,NodeDeclaredFeatures"
    )
    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        (
            f"warning: profiles[0].plugins: not implemented yet and left out of the default plugins: {LEFT_OUT}; "
            "pods that need one of their hard rules are refused, soft rules are ignored"
        ),
        (
            "profile packing: preEnqueue=SchedulingGates,DefaultPreemption queueSort=PrioritySort "
            f"preFilter={filters} filter={filters} postFilter=DefaultPreemption "
            "preScore=TaintToleration,NodeAffinity,NodeResourcesFit,VolumeBinding,PodTopologySpread,InterPodAffinity,"
            "NodeResourcesBalancedAllocation "
            "score=NodeResourcesFit*5,TaintToleration*3,NodeAffinity*2,VolumeBinding*1,PodTopologySpread*2,InterPodAffinity*2,"
            "NodeResourcesBalancedAllocation*1,ImageLocality*1 "
            "reserve=VolumeBinding preBind=VolumeBinding bind=DefaultBinder podGroupPostFilter=DefaultPreemption"
        ),
        "profile first-fit: queueSort=PrioritySort preFilter=NodeResourcesFit filter=NodeResourcesFit bind=DefaultBinder",
    ]


def test_kube_schedulers_name_is_accepted_on_demand(file: Path) -> None:
    file.write_text(KUBE + "profiles: [{schedulerName: default-scheduler}]\n")

    assert len(check(file, replace_kube_scheduler=False)) == 1
    assert check(file, replace_kube_scheduler=True) == []


def test_a_file_that_is_not_there_is_an_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(options(file))

    printed = capsys.readouterr()
    assert code == 2
    assert printed.out == f"error: {file}: No such file or directory\n"
    assert printed.err == f"{file}: 1 error\n"


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ("enabled: 1", "enabled: expected true or false, got 1"),
        ("enabled: -1", "enabled: expected true or false, got -1"),
        ("enabled: .nan", 'enabled: expected true or false, got the string ".nan"'),
        ("enabled: 'true'", 'enabled: expected true or false, got the string "true"'),
        ("maxSignatures: -1", "maxSignatures: Invalid value: -1: must be greater than 0"),
        ("maxSignatures: 0", "maxSignatures: Invalid value: 0: must be greater than 0"),
        ("maxSignatures: 1.5", "maxSignatures: expected an integer, got 1.5"),
        ("maxSignatures: .nan", 'maxSignatures: expected an integer, got the string ".nan"'),
        ("maxSignatures: .inf", 'maxSignatures: expected an integer, got the string ".inf"'),
        ("maxSignatures: many", 'maxSignatures: expected an integer, got the string "many"'),
        ("maxSignatures: true", "maxSignatures: expected an integer, got true"),
        (
            "maxSignatures: 2147483648",
            "maxSignatures: 2147483648 is out of range: expected an integer from -2147483648 to 2147483647",
        ),
        ("maxBatchAge: -1s", 'maxBatchAge: Invalid value: "-1s": must be zero or positive'),
        ("maxBatchAge: -1ns", 'maxBatchAge: Invalid value: "-1ns": must be zero or positive'),
        ("maxBatchAge: 0.5", 'maxBatchAge: expected a duration such as "15s", got 0.5'),
        ("maxBatchAge: true", 'maxBatchAge: expected a duration such as "15s", got true'),
        (
            "maxBatchAge: .nan",
            'maxBatchAge: invalid duration ".nan": write numbers with units, as in "15s", "1m30s" or "500ms"',
        ),
        (
            "maxBatchAge: infs",
            'maxBatchAge: invalid duration "infs": write numbers with units, as in "15s", "1m30s" or "500ms"',
        ),
        (
            "maxBatchAge: soon",
            'maxBatchAge: invalid duration "soon": write numbers with units, as in "15s", "1m30s" or "500ms"',
        ),
        ("maxBatchAge: 2562048h", 'maxBatchAge: invalid duration "2562048h": longer than 292 years'),
        ("verifyFraction: -0.1", "verifyFraction: Invalid value: -0.1: not in valid range [0, 1]"),
        ("verifyFraction: 1.01", "verifyFraction: Invalid value: 1.01: not in valid range [0, 1]"),
        ("verifyFraction: .nan", 'verifyFraction: expected a number, got the string ".nan"'),
        ("verifyFraction: -.inf", 'verifyFraction: expected a number, got the string "-.inf"'),
        ("verifyFraction: often", 'verifyFraction: expected a number, got the string "often"'),
        ("verifyFraction: true", "verifyFraction: expected a number, got true"),
        ("verifyfraction: 1", "verifyfraction: unknown field; did you mean verifyFraction?"),
    ],
)
def test_a_batching_option_that_makes_no_sense_is_one_error_with_its_path(
    file: Path, capsys: pytest.CaptureFixture[str], written: str, error: str
) -> None:
    file.write_text(f"{REPRISE}batching: {{{written}}}\n")

    code = run(options(file))

    printed = capsys.readouterr()
    assert (code, printed.out) == (2, f"error: batching.{error}\n")
    assert printed.err == f"{file}: 1 error\n"


def test_batching_options_that_make_no_sense_together_are_an_error_each(file: Path) -> None:
    file.write_text(f"{REPRISE}batching: {{enabled: 2, maxSignatures: -1, maxBatchAge: -1s, verifyFraction: 2}}\n")

    paths = [error.partition(": ")[0] for error in check(file, replace_kube_scheduler=False)]
    fields = ("enabled", "maxSignatures", "maxBatchAge", "verifyFraction")
    assert paths == [f"batching.{name}" for name in fields]


@pytest.mark.parametrize(
    "written",
    [
        "enabled: false",
        "maxSignatures: 1",
        "maxBatchAge: 0s",
        "maxBatchAge: '0'",
        "verifyFraction: 0",
        "verifyFraction: 1",
    ],
)
def test_batching_options_at_the_ends_of_their_ranges_are_accepted(file: Path, written: str) -> None:
    file.write_text(f"{REPRISE}batching: {{{written}}}\n")

    assert check(file, replace_kube_scheduler=False) == []
