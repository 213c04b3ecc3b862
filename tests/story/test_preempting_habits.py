"""What DefaultPreemption has to say of the pods that it holds back, told through the whole core.

Expected: kube-scheduler 1.37, DefaultPreemption with SchedulerAsyncPreemption (KEP-4832).
"""

from __future__ import annotations

from scheduler.api.objects import Affinity, LabelSelector, Pod, PodAffinity, PodAffinityTerm
from tests.support.core_run import on_node
from tests.support.preemption import PreemptingCore, deletions, going, seated, urgent

WEB = {"app": "web"}


def apart_from_web() -> Pod:
    """An urgent pod that stands no web pod on its node."""
    term = PodAffinityTerm(topology_key="kubernetes.io/hostname", label_selector=LabelSelector(match_labels=WEB))
    return urgent(cpu="1", affinity=Affinity(pod_anti_affinity=PodAffinity(required=[term])))


# trap: preemption-wakes-nobody-itself
# trap: who-preempts-is-held-back
def test_a_pod_that_was_held_back_is_woken_by_what_helps_those_that_refused_it_and_by_no_other_departure() -> None:
    """DefaultPreemption hears of every pod that leaves a node, so that it may be asked again, and asks for nobody."""
    core = PreemptingCore(nodes=("n1", "n2"))
    one, two = (seated(f"web-{number}", cpu="1", labels=WEB, priority=2 - number) for number in range(2))
    far_web = seated("far-web", "n2", cpu="1", labels=WEB, priority=11)
    bystander = seated("bystander", "n2", cpu="1")
    pod = apart_from_web()
    core.pods(one, two, far_web, bystander, pod)
    (first,) = deletions(core.decide().instructions)
    core.pod_gone(one, at=9.0)
    queued = core.state.queue.get(pod.metadata.uid)
    assert queued is not None
    assert (core.rooms(pod), core.gate_of(pod)) == (["gated"], "DefaultPreemption")
    assert queued.unschedulable_plugins == ("DefaultPreemption", "InterPodAffinity")
    (last,) = deletions(core.deleted(first, at=9.0))
    core.pods(going(two), at=10.0)
    core.deleted(last, at=10.0)
    assert not core.state.preemptions.running
    core.pod_gone(bystander, at=11.0)
    assert core.rooms(pod) == ["gated"]
    assert core.scheduler.schedule_one(11.0) is None
    core.validate()

    core.pod_gone(two, at=12.0)
    assert core.rooms(pod) == ["active"]
    assert core.decide(12.0).node_name == "n1"
    core.pods(on_node(pod, "n1"), at=13.0)
    core.validate()
