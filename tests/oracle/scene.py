"""A drawn case before it is written down, for recipes that make something rare of it (rare.py)."""

from dataclasses import dataclass

from tests.oracle.draw import Draw, Json

GROUP = "kubescheduler.config.k8s.io/v1"


@dataclass
class Scene:
    """What a case has; a recipe changes it in place."""

    draw: Draw
    nodes: list[Json]
    pods: list[Json]
    others: list[Json]
    config: Json | None
    wanted: Json

    @property
    def names(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.nodes]

    @property
    def namespace(self) -> str:
        return str(self.wanted["metadata"]["namespace"])

    def profile(self) -> Json:
        """The profile that the pod is evaluated with, which may be changed."""
        if self.config is None:
            profiles: list[Json] = [{"schedulerName": "default-scheduler"}]
            self.config = {"apiVersion": GROUP, "kind": "KubeSchedulerConfiguration", "profiles": profiles}
        profiles = self.config["profiles"]
        wanted = self.wanted["spec"].get("schedulerName")
        return next((profile for profile in profiles if profile.get("schedulerName") == wanted), profiles[0])

    def arguments(self, plugin: str, args: Json) -> None:
        """Give the pod's profile these arguments of a plugin in place of others."""
        profile = self.profile()
        rest = [entry for entry in profile.get("pluginConfig", ()) if entry["name"] != plugin]
        profile["pluginConfig"] = [*rest, {"name": plugin, "args": args}]

    def calm(self) -> None:
        """All plugins in their default places, nodes with room and nothing against the pod, and a pod that asks little."""
        profile = self.profile()
        profile.pop("plugins", None)
        profile["pluginConfig"] = [one for one in profile.get("pluginConfig", ()) if one["name"] != "NodeAffinity"]
        for node in self.nodes:
            node["spec"].pop("taints", None)
            node["spec"].pop("unschedulable", None)
            node["status"]["allocatable"] = {"cpu": "16", "memory": "32Gi", "pods": "110", "ephemeral-storage": "40Gi"}
        self.wanted["metadata"].pop("ownerReferences", None)
        self.ask({"cpu": "50m", "memory": "64Mi"})

    def ask(self, requests: Json) -> None:
        """Replace the pod's spec by a plain one of a container that asks for this."""
        plain: Json = {"name": "c0", "image": "app:v1", "resources": {"requests": requests} if requests else {}}
        kept = {key: value for key, value in self.wanted["spec"].items() if key == "schedulerName"}
        self.wanted["spec"] = {**kept, "containers": [plain]}
        self.wanted["status"] = {"phase": "Pending"}

    def mount(self, *sources: Json) -> None:
        mounted = self.wanted["spec"].setdefault("volumes", [])
        mounted += [{"name": f"r{len(mounted) + number}", **source} for number, source in enumerate(sources)]

    def put(self, *things: Json) -> None:
        """Add objects in the place of those of their names."""
        new = {_key(one): one for one in things}
        self.others[:] = [one for one in self.others if _key(one) not in new] + list(new.values())

    def some_running(self) -> list[Json]:
        """Running pods on known nodes; if there is none, one is made of the wanted pod's metadata."""
        found = [pod for pod in self.pods if pod["spec"].get("nodeName") in self.names]
        found = [pod for pod in found if pod["status"]["phase"] not in ("Succeeded", "Failed")]
        return found or [self.run(self.draw.pick(self.names))]

    def run(self, node: str, **spec: object) -> Json:
        """Add a running pod."""
        name = f"run{len(self.pods)}"
        made: Json = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "uid": f"uid-{name}",
                "labels": dict(self.wanted["metadata"].get("labels", {})),
            },
            "spec": {"nodeName": node, "containers": [{"name": "c0", "image": "app:v1", "resources": {}}], **spec},
            "status": {"phase": "Running"},
        }
        self.pods.append(made)
        return made


def _key(one: Json) -> tuple[str, str, str]:
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]
