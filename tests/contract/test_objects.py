"""Objects are created, completed, read and listed alike."""

import pytest

from tests.contract.servers import Refusal, Server, without_managed_fields
from tests.support.resources import DEVICE_CLASSES, LEASES, NODES, PODS, Object

CONTAINER = {"name": "main", "image": "registry.example/app:1"}


def test_a_pod_is_completed_when_it_is_created(server: Server) -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
    container = {**CONTAINER, "image": "app", "resources": resources, "ports": [{"containerPort": 80}]}
    manifest = {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"containers": [container]}}

    answer = server.send("POST", server.path(), manifest)

    pod = without_managed_fields(answer.json())
    metadata = pod.pop("metadata")
    assert answer.status == 201
    assert metadata == {
        "name": "web",
        "namespace": server.namespace,
        "labels": {"app": "web"},
        "generation": 1,
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
        "creationTimestamp": metadata["creationTimestamp"],
    }
    tolerations = [
        {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for state in ("not-ready", "unreachable")
    ]
    assert pod == {
        "kind": "Pod",
        "apiVersion": "v1",
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "app",
                    "imagePullPolicy": "Always",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "resources": {
                        "limits": {"cpu": "1", "memory": "1Gi"},
                        "requests": {"cpu": "500m", "memory": "1Gi"},
                    },
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "tolerations": tolerations,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_requests_and_limits(server: Server, resources: Object, expected: str) -> None:
    spec = {"containers": [{**CONTAINER, "resources": resources}]}

    pod = server.send("POST", server.path(), {"metadata": {"name": "web"}, "spec": spec}).json()

    assert pod["status"]["qosClass"] == expected


@pytest.mark.parametrize(
    ("image", "policy"),
    [("app", "Always"), ("app:latest", "Always"), ("app:1", "IfNotPresent"), ("registry:5000/app", "Always")],
)
def test_images_without_a_fixed_tag_are_always_pulled(server: Server, image: str, policy: str) -> None:
    spec = {"containers": [{"name": "main", "image": image}]}

    pod = server.send("POST", server.path(), {"metadata": {"name": "web"}, "spec": spec}).json()

    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_ports_of_a_pod_on_the_host_network_are_host_ports(server: Server) -> None:
    spec = {"hostNetwork": True, "containers": [{**CONTAINER, "ports": [{"containerPort": 8080}]}]}

    pod = server.send("POST", server.path(), {"metadata": {"name": "web"}, "spec": spec}).json()

    assert pod["spec"]["containers"][0]["ports"] == [{"containerPort": 8080, "hostPort": 8080, "protocol": "TCP"}]


def test_a_pod_that_tolerates_everything_gets_no_tolerations(server: Server) -> None:
    pod = server.create_pod("web", tolerations=[{"operator": "Exists"}])

    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]


def test_the_status_of_a_new_pod_is_the_servers(server: Server) -> None:
    manifest = {**server.pod("web"), "status": {"phase": "Running", "nominatedNodeName": "node-x"}}

    pod = server.client.create(manifest)

    assert pod["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def test_members_that_are_null_are_absent(server: Server) -> None:
    manifest = server.pod("web", nodeName=None, tolerations=None, priority=None)
    manifest["metadata"] |= {"annotations": None, "finalizers": None, "creationTimestamp": None}

    pod = server.client.create(manifest)

    assert "nodeName" not in pod["spec"]
    assert (pod["spec"]["priority"], len(pod["spec"]["tolerations"])) == (0, 2)
    assert {"annotations", "finalizers"}.isdisjoint(pod["metadata"])


def test_a_gated_pod_says_that_it_is_gated(server: Server) -> None:
    pod = server.create_pod("web", schedulingGates=[{"name": "example.com/wait"}])

    (condition,) = pod["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": condition["lastTransitionTime"],
    }


def test_a_node_is_completed_and_keeps_the_status_it_came_with(server: Server) -> None:
    name = f"node-{server.namespace}"
    status = {"capacity": {"cpu": "4", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}
    spec = {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]}

    node = server.client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}
    )
    server.client.delete(NODES, name)

    info = node["status"].pop("nodeInfo")
    assert set(info.values()) == {""}
    assert "generation" not in node["metadata"]
    assert node["spec"] == spec
    assert node["status"] == {
        "capacity": {"cpu": "4", "pods": "110"},
        "allocatable": {"cpu": "4", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": None, "lastTransitionTime": None}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
    }


def test_a_name_is_made_from_generate_name(server: Server) -> None:
    manifest = {"metadata": {"generateName": "web-"}, "spec": {"containers": [CONTAINER]}}

    first, second = (server.send("POST", server.path(), manifest).json()["metadata"] for _ in range(2))

    assert first["generateName"] == "web-"
    assert first["name"].startswith("web-")
    assert len(first["name"]) == len("web-") + 5
    assert first["name"] != second["name"]


def test_an_object_is_read_as_it_was_created(server: Server) -> None:
    created = server.create_pod("web")

    assert server.get_pod("web") == without_managed_fields(created)


def test_items_of_a_list_carry_neither_kind_nor_version(server: Server) -> None:
    created = without_managed_fields(server.create_pod("web"))

    listed = server.listed()

    assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")
    item = without_managed_fields(listed["items"][0])
    assert item == {name: value for name, value in created.items() if name not in ("kind", "apiVersion")}


def test_a_list_of_all_namespaces_has_the_objects_of_this_one(server: Server) -> None:
    server.create_pod("web")

    found = server.listed(PODS.path(), fieldSelector=f"metadata.namespace={server.namespace}")

    assert [item["metadata"]["name"] for item in found["items"]] == ["web"]


def test_a_namespace_without_objects_or_one_that_is_not_there_lists_empty(server: Server) -> None:
    assert server.names() == []
    assert server.names(PODS.path("no-such-namespace")) == []


@pytest.mark.parametrize(
    ("resource", "name", "message"),
    [
        (PODS, "web", 'pods "web" not found'),
        (NODES, "no-such-node", 'nodes "no-such-node" not found'),
        (LEASES, "web", 'leases.coordination.k8s.io "web" not found'),
        (DEVICE_CLASSES, "web", 'deviceclasses.resource.k8s.io "web" not found'),
    ],
)
def test_an_object_that_is_missing_is_named(server: Server, resource, name: str, message: str) -> None:
    code, reason, text, details = server.refused("GET", server.path(resource, name))

    group = resource.api_version.rpartition("/")[0]
    assert (code, reason, text) == (404, "NotFound", message)
    assert details == {"name": name, **({"group": group} if group else {}), "kind": resource.plural}


def test_a_second_object_of_a_name_is_refused(server: Server) -> None:
    server.create_pod("web")

    found = server.refused("POST", server.path(), server.pod("web"))

    assert found == Refusal(409, "AlreadyExists", 'pods "web" already exists', {"name": "web", "kind": "pods"})


def test_a_namespace_that_is_missing_is_named(server: Server) -> None:
    manifest = {**server.pod("web"), "metadata": {"name": "web"}}

    found = server.refused("POST", PODS.path("no-such-namespace"), manifest)

    details = {"name": "no-such-namespace", "kind": "namespaces"}
    assert found == Refusal(404, "NotFound", 'namespaces "no-such-namespace" not found', details)


def test_the_namespace_of_an_object_must_be_that_of_the_path(server: Server) -> None:
    found = server.refused("POST", PODS.path("default"), server.pod("web"))

    text = "the namespace of the provided object does not match the namespace sent on the request"
    assert found == Refusal(400, "BadRequest", text, None)


def test_a_name_is_required(server: Server) -> None:
    found = server.refused("POST", server.path(), {"spec": {"containers": [CONTAINER]}})

    text = "Required value: name or generateName is required"
    assert found[:3] == (422, "Invalid", f'Pod "" is invalid: metadata.name: {text}')
    cause = {"reason": "FieldValueRequired", "message": text, "field": "metadata.name"}
    assert found.details == {"kind": "Pod", "causes": [cause]}


def test_a_name_must_be_a_subdomain(server: Server) -> None:
    found = server.refused("POST", server.path(), server.pod("A_b"))

    text = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    assert found[:3] == (422, "Invalid", f'Pod "A_b" is invalid: metadata.name: Invalid value: "A_b": {text}')


def test_a_pod_needs_containers(server: Server) -> None:
    found = server.refused("POST", server.path(), {"metadata": {"name": "web"}, "spec": {}})

    cause = {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"}
    details = {"name": "web", "kind": "Pod", "causes": [cause]}
    assert found == Refusal(422, "Invalid", 'Pod "web" is invalid: spec.containers: Required value', details)


def test_a_new_object_may_not_have_a_version(server: Server) -> None:
    manifest = server.pod("web")
    manifest["metadata"]["resourceVersion"] = "5"

    found = server.refused("POST", server.path(), manifest)

    assert found == Refusal(500, "", "resourceVersion should not be set on objects to be created", None)


@pytest.mark.parametrize("body", [b'{"kind"', b"[]"])
def test_a_body_that_is_no_object_is_refused(server: Server, body: bytes) -> None:
    code, reason, message, _ = server.refused("POST", server.path(), body)

    assert (code, reason) == (400, "BadRequest")
    assert "Pod" in message or "cannot unmarshal" in message


def test_an_object_of_another_kind_is_refused(server: Server) -> None:
    code, reason, message, _ = server.refused("POST", server.path(), {"kind": "Node", "apiVersion": "v1"})

    assert (code, reason) == (400, "BadRequest")
    assert message.startswith('Node in version "v1" cannot be handled as a Pod')


def test_an_unknown_format_is_refused(server: Server) -> None:
    code, reason, message, _ = server.refused("POST", server.path(), b"pod", content_type="text/x-pod")

    assert (code, reason) == (415, "UnsupportedMediaType")
    assert message.startswith("the body of the request was in an unknown format - accepted media types include: appl")


def test_a_client_that_reads_nothing_served_is_refused(server: Server) -> None:
    code, reason, message, _ = server.refused("GET", server.path(), accept="text/html")

    assert (code, reason) == (406, "NotAcceptable")
    assert message.startswith("406: Not Acceptable\n\nAvailable representations: application/json")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/pods"),
        ("DELETE", "/api/v1/pods"),
        ("PUT", "/api/v1/namespaces/default/pods"),
        ("POST", "/api/v1/namespaces/default/pods/web"),
        ("GET", "/api/v1/namespaces/default/pods/web/binding"),
        ("DELETE", "/api/v1/namespaces/default/pods/web/status"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    ],
)
def test_a_method_that_a_path_does_not_know_is_refused(server: Server, method: str, path: str) -> None:
    text = "the server does not allow this method on the requested resource"
    assert server.refused(method, path, {}) == Refusal(405, "MethodNotAllowed", text, {})


@pytest.mark.parametrize(
    "path", ["/api/v1/widgets", "/api/v1/namespaces/default/pods/web/widgets", "/apis/apps/v1/widgets"]
)
def test_a_resource_that_is_not_served_is_refused(server: Server, path: str) -> None:
    assert server.refused("GET", path) == Refusal(
        404, "NotFound", "the server could not find the requested resource", {}
    )


def test_a_path_outside_all_groups_is_answered_in_plain_text(server: Server) -> None:
    answer = server.send("GET", "/apis/widgets.example.com/v1/widgets")

    assert (answer.status, answer.body) == (404, b"404 page not found\n")


def test_only_metadata_is_sent_when_only_metadata_is_asked_for(server: Server) -> None:
    server.create_pod("web")

    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    listed = server.send("GET", server.path(), accept=accept).json()

    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert [set(item) for item in listed["items"]] == [{"kind", "apiVersion", "metadata"}]
    assert listed["items"][0]["kind"] == "PartialObjectMetadata"
