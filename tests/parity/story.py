"""A script: a short story on a real API server, told to one scheduler after the other. It is data; `stage.py` performs it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.manifests import node_manifest, pod_manifest
from tests.support.resources import NODES, POD_DISRUPTION_BUDGETS, PODS, Object, Resource

PATIENCE_SECONDS = 45.0
DEFAULT = "default"


@dataclass(frozen=True)
class Create:
    """Create objects in this order; pods last, when these claims are bound."""

    manifests: tuple[Object, ...]
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class CreateInTurn:
    """Create pods, each when the one before is bound or was told why not: so the order of decisions is this one."""

    pods: tuple[Object, ...]


@dataclass(frozen=True)
class Change:
    """Patch an object, or a subresource of it: a merge patch as a mapping, a JSON patch as a list."""

    resource: Resource
    name: str
    patch: Any
    namespace: str | None = None
    subresource: str | None = None


@dataclass(frozen=True)
class Delete:
    """Delete an object; a pod at once, unless `gracefully`: then it stays, terminating, as no kubelet ends it."""

    resource: Resource
    name: str
    namespace: str | None = None
    gracefully: bool = False


@dataclass(frozen=True)
class Bind:
    """Bind a pod as another scheduler would."""

    name: str
    node: str


@dataclass(frozen=True)
class EndTerminating:
    """Play the kubelets: every terminating pod is gone."""


Action = Create | CreateInTurn | Change | Delete | Bind | EndTerminating


@dataclass(frozen=True)
class Step:
    """What is done at once, and how its end is known.

    A step has settled when the API was silent for a while and the scheduler says that it has no pod left to try. Where a
    scheduler never comes to rest (it tries again by the clock alone), `until_told` waits only for a bind or a
    PodScheduled condition of every pod.
    """

    actions: tuple[Action, ...]
    until_told: bool = False
    rests: bool = False
    """Whether the pods that fail in this step have backed off before the next one: of several that an event wakes, those
    that still back off are tried last, which would be a matter of milliseconds."""
    bound: tuple[str, ...] = ()
    """Pods that both schedulers must have bound before the step is looked at, however long that takes."""


@dataclass(frozen=True)
class Script:
    """One story.

    `traps` names what of docs/traps.md it shows; `configuration` is a key of `configurations.py`.
    """

    name: str
    about: str
    steps: tuple[Step, ...]
    traps: tuple[str, ...] = ()
    configuration: str = DEFAULT
    tries_vary: tuple[str, ...] = ()
    """Pods that two events come for, close together: a scheduler may be done with one when the other comes, or not. Of
    Events with one text that follow each other only the first is compared."""
    waits_for: str = ""
    """A part of the product that is not there yet, without which the script cannot be the same."""


@dataclass
class Collection:
    """The scripts of one module."""

    scripts: list[Script] = field(default_factory=list)

    def add(self, name: str, about: str, *steps: Step, **options: Any) -> None:
        self.scripts.append(Script(name, about, steps, **options))


# --------------------------------------------------------------------------------------------------- steps, in short


def create(*manifests: Object, claims: tuple[str, ...] = (), **options: Any) -> Step:
    """Create objects; pods at once, after the rest has settled if they come with others; `claims` must be bound first."""
    return Step((Create(manifests, claims),), **options)


def in_turn(*pods: Object, **options: Any) -> Step:
    """Create pods one after the other, each when the one before has been decided on."""
    return Step((CreateInTurn(pods),), **options)


def delete_pod(*names: str, gracefully: bool = False, **options: Any) -> Step:
    """Delete pods of namespace default."""
    return Step(tuple(Delete(PODS, name, "default", gracefully=gracefully) for name in names), **options)


def delete_node(name: str) -> Step:
    return Step((Delete(NODES, name),))


def delete(resource: Resource, name: str, namespace: str | None = None) -> Step:
    return Step((Delete(resource, name, namespace),))


def change(
    resource: Resource,
    name: str,
    patch: Any,
    *,
    namespace: str | None = None,
    subresource: str | None = None,
    **options: Any,
) -> Step:
    """Patch one object."""
    return Step((Change(resource, name, patch, namespace, subresource),), **options)


def change_node(name: str, **spec: Any) -> Step:
    """Patch fields of a node's spec."""
    return change(NODES, name, {"spec": spec})


def change_pod(name: str, patch: Any, **options: Any) -> Step:
    return change(PODS, name, patch, namespace="default", **options)


def label_node(name: str, **labels: str | None) -> Step:
    return change(NODES, name, {"metadata": {"labels": labels}})


def end_terminating(**options: Any) -> Step:
    return Step((EndTerminating(),), **options)


def together(*steps: Step, **options: Any) -> Step:
    """The actions of several steps, one right after the other."""
    return Step(tuple(action for step in steps for action in step.actions), **options)


# --------------------------------------------------------------------------------------------------- objects, in short


def node(name: str, cpu: str = "4", **options: Any) -> Object:
    """A node of `cpu`, 16Gi and 110 pods."""
    return node_manifest(name, kwok=False, allocatable={"cpu": cpu, **options.pop("allocatable", {})}, **options)


def pod(
    name: str, cpu: str | None = None, *, on: str | None = None, priority: str | None = None, **options: Any
) -> Object:
    """A pod of one container that asks for `cpu` and no memory, 100m and 128Mi by default, and leaves at once when deleted.

    `on` puts it on a node from the start; fields of the container are `requests`, `limits`, `ports` and `image`.
    """
    container = {key: options.pop(key) for key in ("ports", "image") if key in options}
    limits, finalizers = options.pop("limits", None), options.pop("finalizers", None)
    if cpu is not None:
        options.setdefault("requests", {"cpu": cpu})
    if on is not None:
        options["nodeName"] = on
    if priority is not None:
        options["priorityClassName"] = priority
    options.setdefault("terminationGracePeriodSeconds", 0)
    made = pod_manifest(name, **options)
    made["spec"]["containers"][0].update(container)
    if limits is not None:
        made["spec"]["containers"][0]["resources"]["limits"] = limits
    if finalizers is not None:
        made["metadata"]["finalizers"] = finalizers
    return made


def selector(**labels: str) -> Object:
    return {"matchLabels": dict(labels)}


def term(labels: Mapping[str, str], key: str = "kubernetes.io/hostname", **fields: Any) -> Object:
    """A pod affinity term."""
    return {"labelSelector": {"matchLabels": dict(labels)}, "topologyKey": key, **fields}


def spread(labels: Mapping[str, str], key: str, *, skew: int = 1, hard: bool = True, **fields: Any) -> Object:
    """A topology spread constraint."""
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(labels)},
        **fields,
    }


def budget(name: str, labels: Mapping[str, str], *, allowed: int = 0) -> Step:
    """A disruption budget that allows so many disruptions now; no controller counts them here."""
    manifest = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": 0, "selector": selector(**labels)},
    }
    counts = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 0, "expectedPods": 1}
    status = {"status": {**counts, "observedGeneration": 1}}
    allowing = change(POD_DISRUPTION_BUDGETS, name, status, namespace="default", subresource="status")
    return together(create(manifest), allowing)
