"""Pods come and go, nodes too, and extenders answer, refuse, fail and talk nonsense: no pod goes where it may not, none is lost or held up."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod
from scheduler.app.replay_command import build
from scheduler.core.instruction import AskExtender, BindPod, ExtenderVerb, Instruction
from scheduler.core.stimulus import (
    BindFailed,
    ExtenderAnswered,
    ExtenderFailed,
    HostScore,
    NodeApplied,
    NodeDeleted,
    PodApplied,
    PodBound,
    PodDeleted,
    Stimulus,
    Tick,
)
from scheduler.core.story import Header, RecordingScheduler, replay
from tests.support.builders import make_node, make_pod
from tests.support.core_run import changed, on_node

CONFIGURATION: dict[str, Any] = {
    "extenders": [
        {"urlPrefix": "http://a", "filterVerb": "f", "prioritizeVerb": "p", "weight": 3, "ignorable": True},
        {"urlPrefix": "http://b", "filterVerb": "f", "bindVerb": "b", "preemptVerb": "v"},
        {
            "urlPrefix": "http://c",
            "filterVerb": "f",
            "prioritizeVerb": "p",
            "weight": 1,
            "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
        },
    ]
}
IGNORABLE = 0
STEPS = ("pod", "pod", "node", "decide", "decide", "decide", "answer", "answer", "answer", "bind", "change", "delete",
         "remove node", "tick")  # fmt: skip


class Story:
    """One scheduler and the world around it, on virtual time."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.lines: list[bytes] = []
        header = Header(seed=seed, configuration=CONFIGURATION)
        scheduler = build(header)
        self.state = scheduler.state
        self.scheduler = RecordingScheduler(scheduler, header, self.lines.append)
        self.now = 1000.0
        self.numbers = 0
        self.pods: dict[str, Pod] = {}
        self.nodes: set[str] = set()
        self.asked: list[AskExtender] = []
        self.binding: list[tuple[str, str]] = []
        self.may_go_to: dict[str, set[str]] = {}
        self.seen = {"nonsense": 0, "failed": 0, "bound": 0, "gone while asked": 0}

    def tell(self, stimulus: Stimulus) -> None:
        self.do(self.scheduler.handle(stimulus))

    def do(self, instructions: list[Instruction]) -> None:
        for one in instructions:
            if isinstance(one, AskExtender) and one.verb is not ExtenderVerb.BIND:
                self.asked.append(one)
                if one.verb is ExtenderVerb.FILTER:
                    self.may_go_to[one.pod.uid] = set(one.node_names)
            elif isinstance(one, AskExtender):
                self.take_bind(one.pod.uid, one.node_names[0])
                self.asked.append(one)
            elif isinstance(one, BindPod):
                self.take_bind(one.pod.uid, one.node_name)
                self.binding.append((one.pod.uid, one.node_name))

    def take_bind(self, uid: str, node: str) -> None:
        assert node in self.may_go_to[uid], "it goes where an extender did not let it go"
        assert not self.pods[uid].spec.node_name if uid in self.pods else True

    def step(self, kind: str) -> None:
        self.now += self.chance.random()
        name = self.chance.choice(sorted(self.pods)) if self.pods else ""
        match kind:
            case "pod":
                self.create_pod()
            case "node":
                self.nodes.add(node := f"n{self.chance.randrange(5)}")
                labels = {"v": str(self.chance.randrange(3))}
                self.tell(NodeApplied(now=self.now, node=make_node(node, labels=labels)))
            case "remove node" if self.nodes and self.chance.random() < 0.3:
                self.nodes.remove(node := self.chance.choice(sorted(self.nodes)))
                self.tell(NodeDeleted(now=self.now, name=node, uid=f"{node}-uid"))
            case "decide":
                result = self.scheduler.schedule_one(self.now)
                self.do(result.instructions if result is not None else [])
            case "answer" if self.asked:
                self.answer(self.asked.pop(self.chance.randrange(len(self.asked))), well=False)
            case "bind" if self.binding:
                self.bind(*self.binding.pop(), well=self.chance.random() < 0.8)
            case "change" if name and not self.pods[name].spec.node_name:
                self.numbers += 1
                self.pods[name] = changed(self.pods[name], version=f"v{self.numbers}")
                self.tell(PodApplied(now=self.now, pod=self.pods[name]))
            case "delete" if name:
                asked = [one.pod.uid for one in self.asked if one.pod.uid in self.pods]
                name = asked[0] if asked and self.chance.random() < 0.5 else name
                pod = self.pods.pop(name)
                self.seen["gone while asked"] += any(one.pod.uid == name for one in self.asked)
                metadata = pod.metadata
                self.tell(PodDeleted(now=self.now, namespace="default", name=metadata.name, uid=metadata.uid))
            case "tick":
                self.now += 2.0
                self.tell(Tick(now=self.now))

    def create_pod(self) -> None:
        self.numbers += 1
        wants = {"cpu": self.chance.choice(("100m", "1")), "memory": "1Gi"}
        if self.chance.random() < 0.3:
            wants["example.com/gpu"] = "1"
        pod = changed(make_pod(f"p{self.numbers}", requests=dict(wants)), version="1")
        self.pods[pod.metadata.uid] = pod
        self.tell(PodApplied(now=self.now, pod=pod))

    def answer(self, asked: AskExtender, *, well: bool) -> None:
        names = asked.node_names
        kind = "well" if well else self.chance.choice(("well", "well", "some", "none", "nonsense", "failed"))
        number, now, uid = asked.number, self.now, asked.pod.uid
        if asked.verb is ExtenderVerb.BIND:
            self.bind_answer(asked, well=kind in ("well", "some"))
            return
        if kind == "failed":
            self.seen["failed"] += 1
            self.tell(ExtenderFailed(now=now, number=number, error="no answer"))
            return
        if kind == "nonsense":
            self.seen["nonsense"] += 1
            scores = [
                HostScore("invented", 3),
                *(HostScore(name, self.chance.randrange(-(2**63), 2**63)) for name in names),
            ]
            answer = ExtenderAnswered(now=now, number=number, node_names=[*names, "invented"], scores=scores)
            self.tell(answer)
            return
        kept = {"well": names, "none": []}.get(kind, [name for name in names if self.chance.random() < 0.5])
        if asked.verb is ExtenderVerb.FILTER:
            self.may_go_to[uid] = set(kept)
        failed = {name: "not here" for name in names if name not in kept}
        scores = [HostScore(name, self.chance.randrange(11)) for name in names]
        self.tell(
            ExtenderAnswered(
                now=now, number=number, node_names=list(kept), failed_nodes=failed, scores=scores, victims=asked.victims
            )
        )

    def bind_answer(self, asked: AskExtender, *, well: bool) -> None:
        uid, node = asked.pod.uid, asked.node_names[0]
        if not well or uid not in self.pods or node not in self.nodes:
            self.tell(ExtenderAnswered(now=self.now, number=asked.number, error="refused"))
            return
        self.tell(ExtenderAnswered(now=self.now, number=asked.number))
        self.show(uid, node)

    def bind(self, uid: str, node: str, *, well: bool) -> None:
        if not well or uid not in self.pods or node not in self.nodes:
            self.tell(BindFailed(now=self.now, uid=uid, node_name=node, error="refused"))
            return
        self.tell(PodBound(now=self.now, uid=uid, node_name=node))
        self.show(uid, node)

    def show(self, uid: str, node: str) -> None:
        """The watch shows the bound pod."""
        assert not self.pods[uid].spec.node_name, "it is bound twice"
        self.seen["bound"] += 1
        self.pods[uid] = on_node(self.pods[uid], node)
        self.tell(PodApplied(now=self.now, pod=self.pods[uid]))

    def settle(self) -> None:
        """From now on every extender is well and there is room: all pods are bound in the end."""
        for number in range(20):
            self.nodes.add(f"spare{number}")
            self.tell(NodeApplied(now=self.now, node=make_node(f"spare{number}")))
        for _ in range(2000):
            while self.asked:
                self.answer(self.asked.pop(), well=True)
            while self.binding:
                self.bind(*self.binding.pop(), well=True)
            if all(pod.spec.node_name for pod in self.pods.values()) and self.state.extending is None:
                return
            self.now += 1.0
            self.tell(Tick(now=self.now))
            while (result := self.scheduler.schedule_one(self.now)) is not None:
                self.do(result.instructions)
                while self.asked:
                    self.answer(self.asked.pop(), well=True)
        raise AssertionError([pod.metadata.name for pod in self.pods.values() if not pod.spec.node_name])


@pytest.mark.parametrize("seed", range(6))
def test_whatever_extenders_do_pods_go_where_they_may_and_all_are_bound_when_it_is_over(seed: int) -> None:
    story = Story(seed)
    story.step("node")
    for _ in range(400):
        story.step(story.chance.choice(STEPS))
    story.settle()

    assert min(story.seen.values()) > 0, story.seen
    assert story.state.extending is None
    assert [uid for uid in story.pods if story.state.queue.is_in_flight(uid)] == []
    assert story.state.bindings == {}
    story.state.cache.validate()
    assert list(replay(story.lines, build)) == []


def test_a_story_with_extenders_has_no_secrets() -> None:
    from scheduler.config.configuration import from_object

    extender = {
        "urlPrefix": "https://me:password@e/x",
        "filterVerb": "f",
        "tlsConfig": {"certData": "Y2VydA==", "keyData": "c2VjcmV0"},
    }
    shown = from_object({"extenders": [extender]}).as_kube_document()

    written = msgspec.json.encode(Header(seed=1, configuration=shown)).decode()
    assert "https://e/x" in written
    assert "password" not in written
    assert "c2VjcmV0" not in written
    assert build(msgspec.json.decode(written, type=Header)).state.extenders
