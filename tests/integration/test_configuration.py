"""The real kube-scheduler reads the same configurations: the same are refused, the others come to the same plugins.

It reads its configuration and makes its plugins before it looks for an API server, and ends after `--write-config-to`.
"""

import json
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scheduler.config.configuration import from_object
from scheduler.config.report import ConfigurationError
from scheduler.profile.plugin_set import EXTENSION_POINTS
from scheduler.profile.registry import IN_TREE, missing_defaults
from tests.support.binaries import require_binaries
from tests.support.scheduler_configurations import HEADER, SAMPLES, Sample, plugins_document

Points = dict[str, list[tuple[str, int]]]
RANDOM_CONFIGURATIONS = 40
NOBODY = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "none", "context": {"cluster": "none"}}],
    "current-context": "none",
}

# kube-scheduler has no placement plugins without a gate; NodeResourcesFit extends that point all the same.
POINTS = {point.key: point for point in EXTENSION_POINTS if point.key != "placementScore"}


class Answer(NamedTuple):
    """Why a configuration is refused ("" when it is not), and the plugins of each point with their weights."""

    errors: tuple[str, ...]
    points: Points


class RealKubeScheduler:
    def __init__(self, folder: Path) -> None:
        self._binary = require_binaries("kube-scheduler") / "kube-scheduler"
        self._folder = folder
        self._kubeconfig = folder / "kubeconfig"
        self._kubeconfig.write_text(json.dumps(NOBODY))

    def read(self, document: Mapping[str, Any]) -> Answer:
        file = self._folder / "configuration.json"
        file.write_text(json.dumps({**document, "clientConnection": {"kubeconfig": str(self._kubeconfig)}}))
        command = [str(self._binary), f"--config={file}", f"--write-config-to={self._folder / 'written.yaml'}"]
        arguments = ["--secure-port=0", "--logging-format=json", "-v=2"]
        ended = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
        lines = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
        refused = tuple(line["err"] for line in lines if line["msg"] == "command failed")
        found = [line["Plugins"] for line in lines if line["msg"] == "the scheduler starts to work with those plugins"]
        if refused:
            return Answer(refused, {})
        assert found, ended.stderr[-2000:]
        (plugins,) = found
        points = {key[0].lower() + key[1:]: value["Enabled"] or [] for key, value in plugins.items()}
        missing = missing_defaults(IN_TREE)
        return Answer(
            (),
            {
                key: [(one["Name"], one["Weight"]) for one in points[key] if one["Name"] not in missing]
                for key in POINTS
            },
        )


@pytest.fixture
def kube_scheduler(tmp_path: Path) -> RealKubeScheduler:
    return RealKubeScheduler(tmp_path)


def ours(document: Mapping[str, Any]) -> Answer:
    try:
        (profile,) = from_object(dict(document), any_scheduler_name=True).profiles
    except ConfigurationError as error:
        return Answer(tuple(error.errors), {})
    weights = profile.plugins.weights
    return Answer(
        (),
        {
            key: [(name, weights[name] if key == "score" else 0) for name in profile.plugins.names(key)]
            for key in POINTS
        },
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_samples_come_to_the_same_plugins(sample: Sample, kube_scheduler: RealKubeScheduler) -> None:
    document = plugins_document(**sample.plugins)

    assert ours(document) == kube_scheduler.read(document)


def test_random_configurations_come_to_the_same_plugins(kube_scheduler: RealKubeScheduler) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    refused = 0

    for _ in range(RANDOM_CONFIGURATIONS):
        document = {**HEADER, "profiles": [{"schedulerName": "one", "plugins": random_plugins(chance)}]}
        theirs, mine = kube_scheduler.read(document), ours(document)

        assert mine.points == theirs.points, (seed, document)
        if theirs.errors:
            refused += 1
            assert any(_says(error, theirs.errors[0]) for error in mine.errors), (
                mine.errors,
                theirs.errors,
                seed,
                document,
            )
    print(f"{RANDOM_CONFIGURATIONS} configurations, {refused} refused")


def _says(mine: str, theirs: str) -> bool:
    """Whether upstream's text is in our error; ours goes on about what could overflow."""
    text = mine.partition(": ")[2]
    overflow = "total score of Score plugins could overflow"
    return text in theirs or (text.startswith(overflow) and overflow in theirs)


def random_plugins(chance: random.Random) -> dict[str, Any]:
    """Mostly right, sometimes with an entry too many or at the wrong point. What is not here is always disabled."""
    names = list(IN_TREE)
    multi_point: dict[str, Any] = {"disabled": [{"name": name} for name in missing_defaults(IN_TREE)]}
    if chance.random() < 0.25:
        multi_point["disabled"] = [{"name": "*"}]
        multi_point["enabled"] = [_entry(chance, name) for name in chance.sample(names, chance.randint(6, len(names)))]
    else:
        multi_point["disabled"] += [{"name": name} for name in chance.sample(names, chance.choice((0, 0, 1, 2)))]
        multi_point["enabled"] = [_entry(chance, name) for name in chance.sample(names, chance.randint(0, 3))]
        multi_point["enabled"] += multi_point["enabled"][:1] if chance.random() < 0.1 else []
    plugins = {"multiPoint": multi_point}
    # Of a plugin that is enabled at the last point alone kube-scheduler forgets the default arguments, and does not start.
    extended = [
        point for point in POINTS.values() if point.extended_by is not None and point.key != "podGroupPostFilter"
    ]
    for point in chance.sample(extended, chance.randint(0, 3)):
        kind = point.extended_by
        assert kind is not None
        made = {name: one.make() for name, one in IN_TREE.items()}
        fitting = [name for name, plugin in made.items() if isinstance(plugin, kind)]
        pool = fitting if chance.random() < 0.95 else names
        enabled = [_entry(chance, name) for name in chance.sample(pool, chance.randint(0, min(3, len(pool))))]
        enabled += enabled[:1] if chance.random() < 0.05 else []
        disabled = chance.choice(([], [], ["*"], chance.sample(names, 2)))
        plugins[point.key] = {"enabled": enabled, "disabled": [{"name": name} for name in disabled]}
    return plugins


def _entry(chance: random.Random, name: str) -> dict[str, Any]:
    return {"name": name, **chance.choice(({}, {"weight": chance.choice((0, 1, 2, 5, 100, 100, -1))}))}


@pytest.mark.parametrize(
    "fields",
    [
        {"parallelism": 0},
        {"percentageOfNodesToScore": 101},
        {"podInitialBackoffSeconds": 0},
        {"podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 4},
        {"leaderElection": {"leaderElect": True, "leaseDuration": "10s"}},
        {"leaderElection": {"leaderElect": True, "retryPeriod": "-1s"}},
        {"leaderElection": {"leaderElect": True, "resourceLock": "endpoints"}},
        {"extenders": [{"prioritizeVerb": "p"}]},
        {"extenders": [{"managedResources": [{"name": "cpu"}]}]},
        {"extenders": [{"bindVerb": "b"}, {"bindVerb": "b"}]},
        {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "EBSLimits"}]}}}]},
        {"profiles": [{"pluginConfig": [{"name": "EBSLimits"}]}]},
        {"profiles": [{"pluginConfig": [{"name": "NodeName"}, {"name": "NodeName"}]}]},
        {"profiles": [{"schedulerName": "a", "plugins": {"bind": {"disabled": [{"name": "*"}]}}}]},
        {"profiles": [{"schedulerName": "a", "plugins": {"queueSort": {"disabled": [{"name": "*"}]}}}]},
        {"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Nope"}]}}}]},
        {
            "profiles": [
                {
                    "pluginConfig": [
                        {
                            "name": "NodeResourcesBalancedAllocation",
                            "args": {"resources": [{"name": "cpu"}, {"name": "cpu", "weight": 2}]},
                        }
                    ]
                }
            ]
        },
    ],
    ids=json.dumps,
)
def test_rules_are_broken_in_the_same_words(fields: dict[str, Any], kube_scheduler: RealKubeScheduler) -> None:
    document = {**HEADER, **fields}

    mine, theirs = ours(document), kube_scheduler.read(document)

    assert theirs.errors
    for error in mine.errors:
        assert _says(error, theirs.errors[0]), theirs.errors
