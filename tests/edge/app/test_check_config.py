"""``reprise check-config``."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from scheduler.app.check_config import check, run
from tests.support.scheduler_configurations import HEADER

KUBE = "".join(f"{key}: {value}\n" for key, value in HEADER.items())
LEFT_OUT = (
    "VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, "
    "DynamicResources, DefaultPreemption, NodeDeclaredFeatures"
)


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

    filters = "NodeName,NodeUnschedulable,TaintToleration,NodeAffinity,NodePorts,NodeResourcesFit"
    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        (
            f"warning: profiles[0].plugins: not implemented yet and left out of the default plugins: {LEFT_OUT}; "
            "pods that need one of their hard rules are refused, soft rules are ignored"
        ),
        (
            "profile packing: preEnqueue=SchedulingGates queueSort=PrioritySort "
            f"preFilter={filters} filter={filters} "
            "preScore=TaintToleration,NodeAffinity,NodeResourcesFit,NodeResourcesBalancedAllocation "
            "score=NodeResourcesFit*5,TaintToleration*3,NodeAffinity*2,NodeResourcesBalancedAllocation*1,ImageLocality*1 "
            "bind=DefaultBinder"
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
