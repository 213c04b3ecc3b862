"""InterPodAffinity on random clusters: rows answer as columns do, and pods of one key are answered alike."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.api.objects import Affinity, Node, Pod
from scheduler.cache.cache import Cache
from scheduler.cache.node_table import NodeTable
from scheduler.framework.pod_info import PodInfo
from scheduler.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.plugin_runs import ask
from tests.support.pod_affinity import affinity, namespace, term, weighted

SEEDS = st.integers(0, 2**32)
NAMESPACES = ("default", "red", "blue", "ghost")
PLUGINS = (
    InterPodAffinity(),
    InterPodAffinity(InterPodAffinityArgs(hard_pod_affinity_weight=0)),
    InterPodAffinity(InterPodAffinityArgs(hard_pod_affinity_weight=70, ignore_preferred_terms_of_existing_pods=True)),
)


def random_selector(random: Random, key: str, values: str) -> dict[str, Any]:
    operator = random.choice(("equal", "In", "NotIn", "Exists", "DoesNotExist", "all"))
    if operator == "all":
        return {}
    if operator == "equal":
        return {"matchLabels": {key: random.choice(values)}}
    wanted = {"values": random.sample(values, 1)} if "In" in operator else {}
    return {"matchExpressions": [{"key": key, "operator": operator, **wanted}]}


def random_term(random: Random) -> dict[str, Any]:
    made = term(
        random.choice(("zone", "zone", "rack", HOSTNAME)), random_selector(random, random.choice(("app", "tier")), "ab")
    )
    if random.random() < 0.1:
        del made["labelSelector"]
    if random.random() < 0.2:
        made["namespaces"] = random.sample(NAMESPACES, random.randint(0, 2))
    if random.random() < 0.3:
        made["namespaceSelector"] = random_selector(random, "team", "ab")
    return made


def random_rules(random: Random) -> Affinity | None:
    if random.random() < 0.3:
        return None

    def terms(share: float) -> tuple[dict[str, Any], ...]:
        return tuple(random_term(random) for _ in range(random.choice((1, 1, 2)) if random.random() < share else 0))

    def weighted_terms() -> tuple[dict[str, Any], ...]:
        return tuple(weighted(random.choice((1, 7, 100)), one) for one in terms(0.4))

    return affinity(near=terms(0.3), apart=terms(0.4), prefer_near=weighted_terms(), prefer_apart=weighted_terms())


def random_pod(random: Random, name: str, node_name: str = "") -> Pod:
    labels = {key: random.choice("ab") for key in ("app", "tier") if random.random() < 0.6}
    place = random.choice(("default", "default", *NAMESPACES))
    return make_pod(name, namespace=place, labels=labels, node_name=node_name, affinity=random_rules(random))


def random_table(random: Random) -> NodeTable:
    cache = Cache(seed=1)
    for name in NAMESPACES[:3]:
        cache.apply_namespace(namespace(name, **random.choice(({"team": "a"}, {"team": "b"}, {}))))
    count = random.randint(1, 6)
    for number in range(count):
        cache.apply_node(random_node(random, f"n{number}"))
    for number in range(random.randint(0, 8)):
        cache.apply_pod(PodInfo(random_pod(random, f"p{number}", f"n{random.randrange(count)}")))
    if random.random() < 0.3:
        cache.remove_node("n0")  # leaves a row without a node
    return cache.table


def random_node(random: Random, name: str) -> Node:
    labels = {"zone": random.choice("ab")} if random.random() < 0.8 else {}
    labels |= {"rack": random.choice("12")} if random.random() < 0.5 else {}
    return make_node(name, labels=labels)


@settings(max_examples=60)
@given(SEEDS)
def test_rows_equal_columns(seed: int) -> None:
    random = Random(seed)
    table, pod = random_table(random), PodInfo(random_pod(random, "pod"))
    for plugin in PLUGINS:
        state: dict[str, Any] = {}
        plugin.pre_filter(state, pod, table.columns(plugin))
        masks = ask(table, plugin, "filter", state, pod)
        assert set(masks.values()) <= {0, 1, 2, 4}
        if plugin.pre_score(state, pod, table.columns(plugin)).code.label == "Success":
            ask(table, plugin, "score", state, pod)


def answers(plugin: InterPodAffinity, pod: PodInfo, table: NodeTable) -> list[Any]:
    """Everything that the plugin says of a pod."""
    state: dict[str, Any] = {}
    view = table.columns(plugin)
    said: list[Any] = [plugin.pre_filter(state, pod, view), plugin.filter(state, pod, view).tolist()]  # type: ignore[union-attr]
    said += [plugin.pre_score(state, pod, view).code, sorted(plugin.filter_token(state, pod, view))]
    if "weights" in state:
        said.append(plugin.score(state, pod, view).tolist())  # type: ignore[union-attr]
    return [*said, sorted(plugin.score_token(state, pod, view))]


@settings(max_examples=40)
@given(SEEDS)
def test_pods_of_one_key_get_the_same_answers(seed: int) -> None:
    random = Random(seed)
    table = random_table(random)
    rules = [random_rules(random) for _ in range(2)]
    drawn = [random_pod(random, f"pod{number}") for number in range(24)]
    pods = [
        PodInfo(make_pod(one.metadata.name, labels=one.metadata.labels, affinity=random.choice(rules))) for one in drawn
    ]
    for plugin in PLUGINS:
        by_key: dict[Any, list[Any]] = {}
        for pod in pods:
            said = answers(plugin, pod, table)
            key = (plugin.sign(pod), plugin.sign_cluster(pod, table.columns(plugin)))
            assert by_key.setdefault(key, said) == said, key
        assert len(by_key) < len(pods)
