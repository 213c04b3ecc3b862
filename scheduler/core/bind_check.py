"""Whether a pod still fits its node when its bind is about to be sent.

Other schedulers, and whoever changes nodes, do not wait for us: between the decision and the moment at which its bind is
sent their pods can have come to the node. kube-scheduler 1.37 sends the bind whatever happened, and leaves it to the
kubelet to refuse the pod, which ends it.
"""

from __future__ import annotations

from scheduler.cache.cache import CachedPod
from scheduler.core.binding_cycle import fail
from scheduler.core.failure import REASON_ERROR, Failure
from scheduler.core.instruction import Instruction
from scheduler.core.measurements import FITS, REFUSED
from scheduler.core.state import State
from scheduler.core.stimulus import BindDue
from scheduler.framework.status import Code
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure


def is_touched(state: State, uid: str) -> bool:
    """Whether the pod's node was touched since it was chosen by anything but pods that were assumed there.

    Those are our own, and each was decided on with this one counted.
    """
    binding = state.bindings.get(uid)
    if binding is None:
        return False
    table = state.cache.table
    row = table.rows.get(binding.node_name)
    return row is None or table.touched_at(row) > binding.seen


def bind_due(state: State, stimulus: BindDue) -> list[Instruction]:
    """Filter the node again, with the pod itself left out; one that is refused is forgotten and tried again."""
    uid = stimulus.uid
    binding, known = state.bindings.get(uid), state.cache.pod(uid)
    if binding is None or known is None or not known.assumed:
        # It is gone, or has a node: what the API server answers to the bind settles that.
        return []
    refusal = _refusal(state, known, binding.node_name)
    binding.seen = state.cache.table.position
    state.measurements.bind_checks[FITS if refusal is None else REFUSED] += 1
    if refusal is None:
        return []
    state.extenders.give_up_bind(uid)
    return fail(state, uid, Failure(REASON_ERROR, refusal), stimulus.now)


def _refusal(state: State, known: CachedPod, node_name: str) -> str | None:
    """Why the node cannot take the pod any more, as it is told to users; None when it can."""
    cache, pod = state.cache, known.pod
    row = cache.table.rows.get(node_name)
    if row is None:
        return f"node {node_name} is gone, so the pod was not bound to it"
    profile = state.bindings[pod.uid].profile or state.profile_of(pod)
    assert profile is not None, f"pod {pod.key} is being bound and no profile's"
    cache.forget(pod.uid)
    try:
        status = Evaluation(profile, pod, cache.table).try_row(row)
    except PluginFailure as failure:
        state.measurements.plugin_failures[failure.plugin] += 1
        state.measurements.stage_errors[failure.plugin, failure.stage.value] += 1
        return str(failure)
    finally:
        cache.assume(pod, node_name)
    if status.code is Code.SUCCESS:
        return None
    return f"node {node_name} changed before the pod was bound to it: {status.message}"
