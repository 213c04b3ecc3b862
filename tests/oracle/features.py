"""Random declared features of nodes, and pods that need some."""

from tests.oracle.draw import Draw, Json

NEEDED = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions")
OTHERS = ("AFeatureOfTheFuture", "DRAOptionalNodeOperations", "InPlacePodVerticalScalingInitContainers", "ZSomething")


def dress_node(draw: Draw, node: Json) -> None:
    declared = sorted({*draw.some(NEEDED, 0, 3), *draw.some(OTHERS, 0, 2)})
    if draw.chance(0.05):
        declared = draw.some(declared, len(declared), len(declared))  # out of order: the API server would not take it
    if draw.chance(0.03) and declared:
        declared.append(declared[-1])
    if declared:
        node["status"]["declaredFeatures"] = declared


def dress_pod(draw: Draw, pod: Json) -> None:
    spec = pod["spec"]
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    if draw.chance(0.4):
        action = draw.weighted({"RestartAllContainers": 75, "Restart": 25})
        draw.pick(containers)["restartPolicyRules"] = [
            {"action": action, "exitCodes": {"operator": "In", "values": [42]}}
        ]
    if draw.chance(0.4):
        spec["hostNetwork"] = draw.chance(0.85)
        if draw.chance(0.85):
            spec["hostUsers"] = draw.chance(0.2)
    if draw.chance(0.4):
        mount: Json = {"name": "v0", "mountPath": "/data"}
        if draw.chance(0.85):
            mount["bindMountOptions"] = draw.pick((["noexec"], ["nosuid", "nodev"], []))
        if draw.chance(0.2):
            spec["ephemeralContainers"] = [{"name": "debug", "image": "tool", "volumeMounts": [mount]}]
        else:
            draw.pick(containers)["volumeMounts"] = [mount]
