"""The chart grants what the product asks for, and nothing else, whatever is enabled."""

from pathlib import Path
from typing import Any

import pytest

from scheduler.app.check_config import summary
from scheduler.app.leadership import Candidacy
from scheduler.app.rights import rights_needed
from scheduler.config.configuration import Configuration, load
from scheduler.kube.elector import Terms
from tests.support.granted_and_seen import Grant, granted
from tests.support.helm import Helm, only
from tests.support.resources import Object

USER = "system:serviceaccount:reprise:reprise"
VOLUMES = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")


def without(*names: str, point: str = "multiPoint") -> dict[str, Any]:
    return {"plugins": {point: {"disabled": [{"name": name} for name in names]}}}


def only_with(*names: str, point: str = "multiPoint") -> dict[str, Any]:
    """Nothing but these, and what every profile needs."""
    enabled = [{"name": name} for name in ("PrioritySort", "DefaultBinder")]
    plugins: dict[str, Any] = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
    plugins.setdefault(point, {"enabled": []})["enabled"] = [
        *plugins.get(point, {}).get("enabled", []),
        *({"name": name} for name in names),
    ]
    return {"plugins": plugins}


EXTENDER = {"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter", "bindVerb": "bind"}

PROFILES: dict[str, list[dict[str, Any]]] = {
    "default": [],
    "volumes disabled": [without(*VOLUMES)],
    "spread disabled": [without("PodTopologySpread")],
    "preemption disabled": [without("DefaultPreemption")],
    "preemption disabled at its point": [without("*", point="postFilter")],
    "only the zones of volumes": [only_with("VolumeZone")],
    "volumes bound but not filtered by": [only_with("VolumeBinding", point="preBind")],
    "volumes filtered by but not bound": [without("VolumeBinding", point="preBind")],
    "volumes disabled at some points": [without("VolumeBinding", "VolumeZone", point="filter")],
    "preemption enabled at its point again": [
        {
            "plugins": {
                "multiPoint": {"disabled": [{"name": "DefaultPreemption"}]},
                "postFilter": {"enabled": [{"name": "DefaultPreemption"}]},
            }
        }
    ],
    "disabled and enabled again": [
        {"plugins": {"multiPoint": {"disabled": [{"name": "VolumeBinding"}], "enabled": [{"name": "VolumeBinding"}]}}}
    ],
    "nothing but what must be": [only_with()],
    "two profiles": [
        {"schedulerName": "plain", **only_with()},
        {"schedulerName": "preempting", **only_with("DefaultPreemption")},
    ],
}


def configuration_of(objects: list[Object], folder: Path) -> Configuration:
    """The rendered configuration, as the scheduler reads it."""
    file = folder / "configuration.yaml"
    file.write_text(only(objects, "ConfigMap")["data"]["configuration.yaml"])
    return load(file, own_namespace="reprise")


def asked_for(configuration: Configuration) -> set[Grant]:
    election = configuration.kube.leader_election
    candidacy = Candidacy(
        namespace=election.resource_namespace,
        name=election.resource_name,
        terms=Terms(lease_duration_seconds=15, renew_deadline_seconds=10, retry_period_seconds=2),
        hostname="host",
        reporter="reprise",
    )
    rights = rights_needed(configuration, candidacy if election.leader_elect else None)
    return {Grant(right.verb, right.resource, right.group, right.namespace, right.name) for right in rights}


@pytest.mark.parametrize("name", PROFILES)
def test_the_roles_grant_what_the_configuration_asks_for(helm: Helm, tmp_path: Path, name: str) -> None:
    objects = helm.template({"configuration": {"profiles": PROFILES[name]}})
    configuration = configuration_of(objects, tmp_path)
    assert granted(objects, USER) == asked_for(configuration), summary(configuration)


def test_extenders_take_no_rights(helm: Helm, tmp_path: Path) -> None:
    objects = helm.template({"configuration": {"extenders": [EXTENDER]}})
    assert granted(objects, USER) == asked_for(configuration_of(objects, tmp_path)) == granted(helm.template(), USER)


def test_without_an_election_there_is_no_right_on_a_lease(helm: Helm, tmp_path: Path) -> None:
    objects = helm.template({"configuration": {"leaderElection": {"leaderElect": False}}})
    grants = granted(objects, USER)
    assert grants == asked_for(configuration_of(objects, tmp_path))
    assert not [grant for grant in grants if grant.resource == "leases"]


def test_the_configurations_differ_as_they_are_meant_to(helm: Helm) -> None:
    """So that the comparison above is about something."""

    def has(name: str, verb: str, resource: str) -> bool:
        grants = granted(helm.template({"configuration": {"profiles": PROFILES[name]}}), USER)
        return any((grant.verb, grant.resource) == (verb, resource) for grant in grants)

    assert has("default", "delete", "pods")
    assert not has("preemption disabled", "delete", "pods")
    assert not has("preemption disabled at its point", "delete", "pods")
    assert has("two profiles", "delete", "pods")
    assert has("default", "watch", "csinodes")
    assert not has("volumes disabled", "watch", "csinodes")
    assert not has("volumes filtered by but not bound", "patch", "persistentvolumes")
    assert has("volumes bound but not filtered by", "patch", "persistentvolumes")


def test_more_rules_are_granted_as_they_are_written(helm: Helm) -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["racks"], "verbs": ["list", "watch"]}
    more = granted(helm.template({"rbac": {"extraRules": [rule]}}), USER) - granted(helm.template(), USER)
    assert more == {Grant("list", "racks", "example.com"), Grant("watch", "racks", "example.com")}


def test_nothing_is_granted_to_anybody_else(helm: Helm) -> None:
    """But to those who read metrics, when they are named."""
    scraper = {"namespace": "monitoring", "name": "prometheus"}
    objects = helm.template({"metrics": {"scrapers": [scraper]}})
    subjects = {
        (subject["namespace"], subject["name"], binding["roleRef"]["name"])
        for binding in objects
        if binding["kind"].endswith("Binding")
        for subject in binding["subjects"]
    }
    assert subjects == {
        ("reprise", "reprise", "reprise:reprise"),
        ("reprise", "reprise", "reprise-leader-election"),
        ("monitoring", "prometheus", "reprise:reprise:metrics-reader"),
    }
    role = only(objects, "ClusterRole", "reprise:reprise:metrics-reader")
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_two_releases_share_no_name(helm: Helm) -> None:
    """Of what has no namespace; one release's name may be that of another in another namespace."""

    def names(release: str, namespace: str) -> set[tuple[str, str]]:
        objects = helm.template(
            {"metrics": {"scrapers": [{"namespace": "m", "name": "p"}]}}, release=release, namespace=namespace
        )
        return {(each["kind"], each["metadata"]["name"]) for each in objects if "namespace" not in each["metadata"]}

    found = [names(*place) for place in (("reprise", "a"), ("reprise", "b"), ("b-reprise", "a"), ("reprise", "a-b"))]
    assert all(len(each) == 4 for each in found)
    assert len(set().union(*found)) == 16


def test_the_configuration_is_written_as_it_was_given(helm: Helm, tmp_path: Path) -> None:
    configuration = {
        "profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}}]}],
        "podMaxBackoffSeconds": 20,
        "leaderElection": {"leaseDuration": "20s"},
    }
    own = {"batching": {"maxSignatures": 7}, "logging": {"level": "debug"}}
    values = {
        "schedulerName": "packing",
        "configuration": configuration,
        "repriseConfiguration": own,
        "serving": {"port": 8443, "debug": True, "tls": {"secretName": "certificate"}},
        "metrics": {"plain": {"enabled": True, "port": 8080}},
    }
    found = configuration_of(helm.template(values, release="night", namespace="shop"), tmp_path)
    election = found.kube.leader_election
    assert [one.scheduler_name for one in found.profiles] == ["packing"]
    assert found.kube.pod_max_backoff_seconds == 20
    assert (election.resource_namespace, election.resource_name) == ("shop", "night-reprise")
    assert election.lease_duration_seconds == 20
    assert found.reprise.batching.max_signatures == 7
    assert found.reprise.logging.level == "debug"
    serving = found.reprise.serving
    assert (serving.bind_address, serving.port, serving.debug, serving.plain_metrics_port) == (
        "0.0.0.0",
        8443,
        True,
        8080,
    )
    assert (serving.cert_file, serving.private_key_file) == ("/etc/reprise-tls/tls.crt", "/etc/reprise-tls/tls.key")


def test_one_that_obeys_a_resource_may_read_it_and_write_its_status_and_is_told_its_name(helm: Helm) -> None:
    objects = helm.template({"config": {"resource": "night"}})
    assert granted(objects, USER) - granted(helm.template(), USER) == {
        *(Grant(verb, "schedulerconfigurations", "reprise.dev") for verb in ("get", "list", "watch")),
        Grant("patch", "schedulerconfigurations/status", "reprise.dev"),
    }
    (container,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["args"][-2:] == ["--config-resource", "night"]


def test_a_change_of_the_configuration_makes_no_new_pods_unless_it_is_to(helm: Helm) -> None:
    template = only(helm.template({"schedulerName": "b"}), "Deployment")["spec"]["template"]
    assert "annotations" not in template["metadata"]


def test_every_change_of_the_configuration_makes_new_pods_where_it_is_to(helm: Helm) -> None:
    def checksum(values: dict[str, Any]) -> str:
        values = {"config": {"onChange": "restart"}, **values}
        template = only(helm.template(values), "Deployment")["spec"]["template"]
        found: str = template["metadata"]["annotations"]["checksum/configuration"]
        return found

    changes: list[dict[str, Any]] = [
        {},
        {"schedulerName": "b"},
        {"repriseConfiguration": {"logging": {"level": "debug"}}},
    ]
    assert len({checksum(values) for values in changes}) == len(changes)
    assert checksum({}) == checksum({"replicas": 2})
