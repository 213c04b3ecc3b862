"""A profile's plugins and their arguments: what is refused, what is ignored, and what reaches the plugin."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.config.configuration import Configuration, from_object
from scheduler.config.report import ConfigurationError
from scheduler.framework.plugin import Plugin
from scheduler.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from scheduler.profile.registry import IN_TREE, Registration

NOT_YET = "DynamicResources"


def configuration(*, evaluate: bool = False, extenders: Any = (), **fields: Any) -> Configuration:
    document = {"profiles": [{"schedulerName": "one", **fields}], "extenders": list(extenders)}
    return from_object(document, any_scheduler_name=evaluate)


def errors_of(**fields: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        configuration(**fields)
    return [error.removeprefix("profiles[0].") for error in caught.value.errors]


def warnings_of(**fields: Any) -> list[str]:
    """Without the one about what is left out of the default plugins."""
    found = configuration(**fields).warnings
    return [one.removeprefix("profiles[0].") for one in found if "left out of the default" not in one]


def enabled(point: str, *entries: Any) -> dict[str, Any]:
    return {point: {"enabled": [{"name": one} if isinstance(one, str) else one for one in entries]}}


@pytest.mark.parametrize(
    ("plugins", "errors"),
    [
        (enabled("multiPoint", "Nope"), ['plugins.multiPoint.enabled[0]: PreFilterPlugin "Nope" does not exist']),
        (enabled("permit", "Nope"), ['plugins.permit.enabled[0]: PermitPlugin "Nope" does not exist']),
        (enabled("score", "*"), ['plugins.score.enabled[0]: ScorePlugin "*" does not exist']),
        (
            enabled("reserve", "NodeAffinity"),
            ['plugins.reserve.enabled[0]: plugin "NodeAffinity" does not extend ReservePlugin plugin'],
        ),
        (
            enabled("bind", "DefaultBinder", "NodeName"),
            ['plugins.bind.enabled[1]: plugin "NodeName" does not extend BindPlugin plugin'],
        ),
        (
            enabled("filter", "NodeName", "NodeName"),
            ['plugins.filter.enabled[1]: plugin "NodeName" already registered as "FilterPlugin"'],
        ),
        (
            {
                "multiPoint": {
                    "disabled": [{"name": "NodePorts"}],
                    "enabled": [{"name": "NodePorts"}, {"name": "NodePorts"}],
                }
            },
            ['plugins.multiPoint.enabled[1]: plugin "NodePorts" already registered as "PreFilterPlugin"'],
        ),
        (enabled("score", {}), ["plugins.score.enabled[0].name: Required value: the name of a plugin"]),
        (enabled("score", {"name": 5}), ["plugins.score.enabled[0].name: expected a string, got 5"]),
        (
            enabled("score", {"name": "NodeAffinity", "weight": "2"}),
            ['plugins.score.enabled[0].weight: expected an integer, got the string "2"'],
        ),
        ({"scores": {}}, ["plugins.scores: unknown field; did you mean score?"]),
        (
            enabled("filter", "EBSLimits"),
            [
                (
                    'plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" '
                    '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
                )
            ],
        ),
        (
            {"queueSort": {"disabled": [{"name": "*"}]}},
            ['plugins.queueSort: only one queue sort plugin required for profile with scheduler name "one", but got 0'],
        ),
        (
            {"bind": {"disabled": [{"name": "DefaultBinder"}]}},
            ['plugins.bind: at least one bind plugin is needed for profile with scheduler name "one"'],
        ),
        (
            {"multiPoint": {"disabled": [{"name": "*"}]}},
            [
                (
                    "plugins.queueSort: only one queue sort plugin required for profile with scheduler name "
                    '"one", but got 0'
                ),
                'plugins.bind: at least one bind plugin is needed for profile with scheduler name "one"',
            ],
        ),
        (
            enabled("placementScore", "NodeResourcesFit"),
            ["plugins.placementScore.enabled[0]: NodeResourcesFit is not implemented at placementScore yet; remove it"],
        ),
    ],
)
def test_a_wrong_plugin_is_refused(plugins: dict[str, Any], errors: list[str]) -> None:
    assert errors_of(plugins=plugins) == errors


@pytest.mark.parametrize("name", [*NOT_YET.split(", "), "GangScheduling", "DeferredPodScheduling"])
@pytest.mark.parametrize("point", ["multiPoint", "filter"])
def test_enabling_a_plugin_that_is_not_there_yet_is_refused_by_name(name: str, point: str) -> None:
    assert errors_of(plugins=enabled(point, name)) == [
        f"plugins.{point}.enabled[0]: {name} is not implemented yet; disable it or remove it"
    ]


def test_plugins_that_are_left_out_of_the_default_set_are_named() -> None:
    assert configuration().warnings == (
        (
            f"profiles[0].plugins: not implemented yet and left out of the default plugins: {NOT_YET}; "
            "pods that need one of their hard rules are refused, soft rules are ignored"
        ),
    )


@pytest.mark.parametrize("disabled", ["*", *[NOT_YET]])
def test_nothing_is_said_of_those_that_are_disabled(disabled: str) -> None:
    multi_point = {
        "disabled": [{"name": name} for name in disabled.split(", ")],
        "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}],
    }

    assert configuration(plugins={"multiPoint": multi_point}).warnings == ()


def test_disabling_a_plugin_that_nobody_knows_is_a_warning() -> None:
    plugins = {"filter": {"disabled": [{"name": "NodeNam"}, {"name": "VolumeZone"}, {"name": "EBSLimits"}]}}

    assert warnings_of(plugins=plugins) == ['plugins.filter.disabled[0]: there is no plugin "NodeNam" to disable']


@pytest.mark.parametrize(
    ("score", "is_accepted"),
    [
        # TaintToleration 3, NodeAffinity 2, Fit 1, VolumeBinding 1, PodTopologySpread 2, InterPodAffinity 2,
        # BalancedAllocation 1 and ImageLocality's own: 100 times their sum
        # has to stay below 2**31 = 2,147,483,648.
        (21_474_836 - 12, True),
        (21_474_836 - 11, False),
        (2**31 - 1, False),
        (-1, False),
    ],
)
def test_totals_must_leave_room_for_the_key_that_breaks_ties(score: int, is_accepted: bool) -> None:
    plugins = enabled("score", {"name": "ImageLocality", "weight": score})

    if is_accepted:
        assert configuration(plugins=plugins).profiles[0].plugins.weights["ImageLocality"] == score
    else:
        (error,) = errors_of(plugins=plugins)
        assert error.startswith("plugins.score: total score of Score plugins could overflow: ")


def test_a_negative_weight_is_accepted_where_upstream_accepts_it() -> None:
    """Its overflow check wraps around on the plugin after a negative sum, and not on the last one."""
    plugins = {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": -4}]}}
    multi_point = {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]}

    profile = configuration(plugins={**plugins, "multiPoint": multi_point}).profiles[0]

    assert dict(profile.plugins.weights) == {"ImageLocality": -4}


def fit(**args: Any) -> dict[str, Any]:
    return {"name": "NodeResourcesFit", "args": args}


PACKING = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}, {"name": "memory"}]}


def args_of(found: Configuration, name: str) -> Any:
    return found.profiles[0].plugin_config[name]


def test_arguments_reach_the_plugin() -> None:
    made: list[NodeResourcesFitArgs] = []

    def make(args: NodeResourcesFitArgs) -> Plugin:
        made.append(args)
        return NodeResourcesFit(args)

    registry = {**IN_TREE, "NodeResourcesFit": IN_TREE["NodeResourcesFit"]._replace(make=make)}
    document = {"profiles": [{"pluginConfig": [fit(scoringStrategy=PACKING, ignoredResources=["example.com/a"])]}]}

    from_object(document, registry=registry)

    (args,) = made
    assert args.ignored_resources == ("example.com/a",)
    strategy = args.scoring_strategy
    assert strategy is not None
    assert strategy.type == "MostAllocated"
    assert [(one.name, one.weight) for one in strategy.resources] == [("cpu", 3), ("memory", 1)]


def test_a_plugin_without_arguments_in_the_file_has_its_defaults() -> None:
    assert args_of(configuration(), "NodeResourcesFit") == NodeResourcesFitArgs()


@pytest.mark.parametrize(
    "args", [None, {}, {"kind": "NodeResourcesFitArgs"}, {"apiVersion": "kubescheduler.config.k8s.io/v1"}]
)
def test_empty_arguments_are_the_defaults(args: Any) -> None:
    found = configuration(pluginConfig=[{"name": "NodeResourcesFit", "args": args}])

    assert args_of(found, "NodeResourcesFit") == NodeResourcesFitArgs()


@pytest.mark.parametrize(
    ("config", "errors"),
    [
        (
            [fit(scoringStrategy={"type": "MostAllocated", "resource": []})],
            ["args.scoringStrategy.resource: unknown field; did you mean resources?"],
        ),
        (
            [fit(scoringStrategy={"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]})],
            [
                (
                    "args.scoringStrategy.resources[0].weight: Invalid value: 101: "
                    "resource weight of cpu not in valid range (0, 100]"
                )
            ],
        ),
        (
            [fit(scoringStrategy={"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": []}})],
            [
                "args.scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified"
            ],
        ),
        (
            [fit(ignoredResourceGroups=["a/b"], ignoredResources="x")],
            [
                'args.ignoredResources: expected a list, got the string "x"',
                "args.ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'",
            ],
        ),
        ([{"name": "NodeResourcesFit", "args": "x"}], ['args: expected an object, got the string "x"']),
        ([{"name": "NodeResourcesFit", "args": [1]}], ["args: expected an object, got a list"]),
        (
            [fit(kind="InterPodAffinityArgs")],
            [
                (
                    "args.kind: args for plugin NodeResourcesFit were not of type "
                    "NodeResourcesFitArgs.kubescheduler.config.k8s.io, got InterPodAffinityArgs.kubescheduler.config.k8s.io"
                )
            ],
        ),
        (
            [fit(apiVersion="kubescheduler.config.k8s.io/v1beta3")],
            [
                (
                    'args.apiVersion: Unsupported value: "kubescheduler.config.k8s.io/v1beta3": '
                    'supported values: "kubescheduler.config.k8s.io/v1"'
                )
            ],
        ),
        (
            [
                {
                    "name": "NodeResourcesBalancedAllocation",
                    "args": {"resources": [{"name": "cpu"}, {"name": "cpu", "weight": 2}]},
                }
            ],
            [
                'args.resources[1].name: Duplicate value: "cpu"',
                "args.resources[1].weight: Invalid value: 2: must be 1",
            ],
        ),
        ([{"name": "PodTopologySpread", "args": 5}], ["args: expected an object, got 5"]),
        (
            [{"name": "PodTopologySpread", "args": {"kind": "Other"}}],
            [
                (
                    "args.kind: args for plugin PodTopologySpread were not of type "
                    "PodTopologySpreadArgs.kubescheduler.config.k8s.io, got Other.kubescheduler.config.k8s.io"
                )
            ],
        ),
    ],
)
def test_wrong_arguments_are_refused(config: list[dict[str, Any]], errors: list[str]) -> None:
    assert errors_of(pluginConfig=config) == [f"pluginConfig[0].{error}" for error in errors]


def test_the_same_plugin_cannot_be_configured_twice() -> None:
    assert errors_of(pluginConfig=[fit(), {"name": "X"}, fit()]) == [
        'pluginConfig[2]: Duplicate value: "NodeResourcesFit"'
    ]


def test_names_that_no_longer_exist_cannot_be_configured() -> None:
    assert errors_of(pluginConfig=[{"name": "CinderLimits"}, {}]) == [
        (
            'pluginConfig[0]: Invalid value: "CinderLimits": was invalid in version "v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
        ),
        "pluginConfig[1].name: Required value: the name of a plugin",
    ]


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        (
            {"name": "DynamicResources", "args": {"filterTimeout": "1s"}},
            "DynamicResources is not implemented yet, so these arguments have no effect",
        ),
        ({"name": "Coscheduling", "args": 5}, 'there is no plugin "Coscheduling", so these arguments have no effect'),
        ({"name": "NodeName", "args": 5}, "NodeName takes no arguments, so these arguments have no effect"),
    ],
)
def test_arguments_that_nobody_reads_are_a_warning(config: dict[str, Any], warning: str) -> None:
    assert warnings_of(pluginConfig=[config]) == [f"pluginConfig[0]: {warning}"]


def without(name: str) -> dict[str, Any]:
    return {"multiPoint": {"disabled": [{"name": name}]}}


def test_arguments_of_a_plugin_that_is_not_enabled_are_read_all_the_same() -> None:
    plugins = without("NodeAffinity")

    assert warnings_of(plugins=plugins, pluginConfig=[{"name": "NodeAffinity", "args": {}}]) == [
        "pluginConfig[0]: NodeAffinity is not enabled, so these arguments have no effect"
    ]
    assert errors_of(plugins=plugins, pluginConfig=[{"name": "NodeAffinity", "args": {"addedaffinity": {}}}]) == [
        "pluginConfig[0].args.addedaffinity: unknown field; did you mean addedAffinity?"
    ]


def test_fits_arguments_have_rules_only_when_it_is_enabled() -> None:
    config = [fit(scoringStrategy={"type": "None"})]

    assert errors_of(pluginConfig=config) != []
    assert warnings_of(plugins=without("NodeResourcesFit"), pluginConfig=config) == [
        "pluginConfig[0]: NodeResourcesFit is not enabled, so these arguments have no effect"
    ]


def test_resources_that_an_extender_takes_care_of_take_the_place_of_fits_own() -> None:
    made: list[msgspec.Struct] = []

    def make(args: NodeResourcesFitArgs) -> Plugin:
        made.append(args)
        return NodeResourcesFit(args)

    registry = {**IN_TREE, "NodeResourcesFit": Registration(make, NodeResourcesFitArgs)}
    managed = [{"name": "example.com/a", "ignoredByScheduler": True}, {"name": "example.com/b"}]
    document = {
        "extenders": [{"filterVerb": "f", "managedResources": managed}],
        "profiles": [{"schedulerName": "one", "pluginConfig": [fit(ignoredResources=["example.com/own"])]}],
    }

    from_object(document, any_scheduler_name=True, registry=registry)

    assert made == [NodeResourcesFitArgs(ignored_resources=("example.com/a",))]
