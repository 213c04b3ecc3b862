"""Pods that wait and are nominated to a node: others of lower priority have to leave them room (kube-scheduler 1.37: nominator)."""

from __future__ import annotations

from scheduler.framework.pod_info import PodInfo


class Nominator:
    """Nominations by node and by UID: as the pods' ``status.nominatedNodeName`` says, or will say when it has been written."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, PodInfo]] = {}
        self.node_of: dict[str, str] = {}
        """The nominated node by UID."""

    def __len__(self) -> int:
        return len(self.node_of)

    def update(self, pod: PodInfo) -> None:
        """The pod as it is now, with or without a nomination.

        One that did not show its nomination and still does not is still nominated: it is being written.
        """
        uid, node_name = pod.uid, pod.pod.status.nominated_node_name
        kept = self.node_of.get(uid)
        if kept is None and not node_name:
            return
        if kept is not None and not node_name and not self._nodes[kept][uid].pod.status.nominated_node_name:
            node_name = kept
        self.nominate(pod, node_name)

    def nominate(self, pod: PodInfo, node_name: str) -> None:
        """Keep room for the pod on this node, and on no other; "" for none."""
        self.remove(pod.uid)
        if node_name:
            self._nodes.setdefault(node_name, {})[pod.uid] = pod
            self.node_of[pod.uid] = node_name

    def below(self, node_name: str, priority: int) -> list[PodInfo]:
        """Pods of a lower priority that are nominated to the node."""
        return [pod for pod in self._nodes.get(node_name, {}).values() if pod.priority < priority]

    def remove(self, uid: str) -> PodInfo | None:
        """No room is kept for the pod any more. Returns it as it was nominated; None when it was not."""
        node_name = self.node_of.pop(uid, None)
        if node_name is None:
            return None
        pods = self._nodes[node_name]
        nominated = pods.pop(uid)
        if not pods:
            del self._nodes[node_name]
        return nominated

    def ahead_of(self, pod: PodInfo) -> dict[str, list[PodInfo]]:
        """By node, the nominated pods that this pod has to leave room: others of its priority or a higher one."""
        found: dict[str, list[PodInfo]] = {}
        for node_name, nominated in self._nodes.items():
            ahead = [one for one in nominated.values() if one.uid != pod.uid and one.priority >= pod.priority]
            if ahead:
                found[node_name] = ahead
        return found
