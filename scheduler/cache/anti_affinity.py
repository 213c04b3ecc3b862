"""Pods with required anti-affinity, found by the namespaces that their terms may reach.

kube-scheduler 1.37: InterPodAffinity, GetAffinityTerms: a term's namespaces are those it lists and those its
namespaceSelector matches; without either, the pod's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from scheduler.api.objects import LabelSelector, PodAffinityTerm
from scheduler.api.selectors import LabelMatcher, SelectorError, compile_label_selector
from scheduler.framework.pod_info import PodInfo

_encode = msgspec.json.Encoder().encode


class _Selected:
    """Pods, by UID in the order they came, whose terms hold one namespaceSelector."""

    __slots__ = ("matcher", "uids")

    def __init__(self, selector: LabelSelector) -> None:
        self.uids: dict[str, None] = {}
        self.matcher: LabelMatcher | None
        try:
            self.matcher = compile_label_selector(selector)
        except SelectorError:
            self.matcher = None  # what cannot be read may reach everything

    def may_match(self, labels: Mapping[str, str] | None) -> bool:
        return self.matcher is None or labels is None or self.matcher.matches(labels)


def terms_of(pod: PodInfo) -> list[PodAffinityTerm]:
    """The pod's required anti-affinity terms."""
    affinity = pod.pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return []
    return affinity.pod_anti_affinity.required or []


class AntiAffinityIndex:
    """Few pods have such terms and they share few selectors, so an answer takes about as long as there are selectors."""

    def __init__(self) -> None:
        self.by_namespace: dict[str, dict[str, None]] = {}
        self.by_selector: dict[bytes, _Selected] = {}

    def add(self, pod: PodInfo) -> None:
        for namespace, selector in _scopes(pod):
            if namespace is not None:
                self.by_namespace.setdefault(namespace, {})[pod.uid] = None
            if selector is not None:
                key = _encode(selector)
                if key not in self.by_selector:
                    self.by_selector[key] = _Selected(selector)
                self.by_selector[key].uids[pod.uid] = None

    def remove(self, pod: PodInfo) -> None:
        """Undo ``add`` of a pod with the same terms."""
        for namespace, selector in _scopes(pod):
            if namespace is not None and namespace in self.by_namespace:
                self.by_namespace[namespace].pop(pod.uid, None)
                if not self.by_namespace[namespace]:
                    del self.by_namespace[namespace]
            if selector is not None and (key := _encode(selector)) in self.by_selector:
                self.by_selector[key].uids.pop(pod.uid, None)
                if not self.by_selector[key].uids:
                    del self.by_selector[key]

    def reaching(self, namespace: str, labels: Mapping[str, str] | None) -> str | None:
        """The UID of a pod with a term that may reach the namespace, None if there is none.

        Without labels the namespace is not known, and any selector may match it.
        """
        if namespace in self.by_namespace:
            return next(iter(self.by_namespace[namespace]))
        for selected in self.by_selector.values():
            if selected.may_match(labels):
                return next(iter(selected.uids))
        return None

    def scopes(self) -> Iterator[tuple[str | bytes, str]]:
        """Every (namespace or encoded selector, UID), in no particular order."""
        for namespace, uids in self.by_namespace.items():
            for uid in uids:
                yield namespace, uid
        for key, selected in self.by_selector.items():
            for uid in selected.uids:
                yield key, uid


def scopes_of(pod: PodInfo) -> set[tuple[str | bytes, str]]:
    """What ``AntiAffinityIndex.scopes`` has of one pod."""
    found: set[tuple[str | bytes, str]] = set()
    for namespace, selector in _scopes(pod):
        if namespace is not None:
            found.add((namespace, pod.uid))
        if selector is not None:
            found.add((_encode(selector), pod.uid))
    return found


def _scopes(pod: PodInfo) -> Iterator[tuple[str | None, LabelSelector | None]]:
    for term in terms_of(pod):
        if not term.namespaces and term.namespace_selector is None:
            yield pod.pod.metadata.namespace, None
        for namespace in term.namespaces or ():
            yield namespace, None
        if term.namespace_selector is not None:
            yield None, term.namespace_selector
