from __future__ import annotations

import itertools

import pytest

from scheduler.api.objects import ImageVolumeSource, Node, Pod, Volume
from scheduler.framework.pod_info import PodInfo
from scheduler.plugins.image_locality import ImageLocality, normalized_image_name
from tests.support.builders import make_container, make_node, make_pod
from tests.support.plugin_runs import raw_scores, table_of

MIB = 1024 * 1024


def with_images(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> Pod:
    return make_pod(
        containers=[make_container(f"c{number}", image=image) for number, image in enumerate(images)],
        init_containers=[make_container(f"i{number}", image=image) for number, image in enumerate(init)] or None,
        volumes=[
            Volume(name=f"v{number}", image=ImageVolumeSource(reference=image)) for number, image in enumerate(volumes)
        ],
    )


def two_of_four(size: int = 500 * MIB) -> list[Node]:
    return [make_node(f"n{number}", images={"app:1": size} if number < 2 else None) for number in range(4)]


@pytest.mark.parametrize(
    ("pod", "held"),
    [
        (with_images("app:1"), 23),
        (with_images("app:1", init=("absent",)), 11),
        (with_images("app:1", volumes=("absent:1",)), 11),
        (with_images("absent", volumes=("app:1",)), 11),
        (with_images("absent", init=("app:1",)), 11),
        (with_images("app:1", "app:1"), 24),  # 100 * (2 * 262144000 - 24117248) // (2097152000 - 24117248)
        (with_images("absent"), 0),
        (with_images(), 0),
    ],
)
def test_images_count_their_size_by_the_share_of_nodes_that_hold_them(pod: Pod, held: int) -> None:
    assert raw_scores(ImageLocality(), pod, table_of(two_of_four())) == {"n0": held, "n1": held, "n2": 0, "n3": 0}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (23 * MIB, 0),
        (23 * MIB - 1, 0),
        (1000 * MIB, 100),
        (5000 * MIB, 100),
        (999 * MIB, 99),
        (34 * MIB, 1),
        (32 * MIB, 0),
    ],
)
def test_small_images_count_nothing_and_large_ones_no_more_than_100(size: int, expected: int) -> None:
    table = table_of([make_node("only", images={"app:1": size})])
    assert raw_scores(ImageLocality(), with_images("app:1"), table) == {"only": expected}


def test_each_node_counts_the_size_that_it_reports() -> None:
    table = table_of([make_node("a", images={"app:1": 200 * MIB}), make_node("b", images={"app:1": 700 * MIB})])
    assert raw_scores(ImageLocality(), with_images("app:1"), table) == {"a": 18, "b": 69}


@pytest.mark.parametrize(("size", "expected"), [(3 * 34361836 - 1, 0), (3 * 34361836 + 2, 1)])
def test_a_scaled_size_is_truncated_to_whole_bytes(size: int, expected: int) -> None:
    # One of three nodes holds it; 34361836 bytes are the first that score 1.
    nodes = [make_node("a", images={"app:1": size}), make_node("b"), make_node("c")]
    assert raw_scores(ImageLocality(), with_images("app:1"), table_of(nodes)) == {"a": expected, "b": 0, "c": 0}


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("app", "app:latest"),
        ("app:1", "app:1"),
        ("registry:5000/app", "registry:5000/app:latest"),
        ("registry:5000/app:1", "registry:5000/app:1"),
        ("app@sha256:0123", "app@sha256:0123"),
        ("registry/app@sha256:0123", "registry/app@sha256:0123"),
        ("docker.io/library/app", "docker.io/library/app:latest"),
        ("", ":latest"),
    ],
)
def test_a_name_without_a_tag_means_latest(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized


def test_a_name_without_a_tag_is_found_as_latest() -> None:
    table = table_of([make_node("a", images={"app:latest": 1000 * MIB})])
    assert raw_scores(ImageLocality(), with_images("app"), table) == {"a": 100}


def token(pod: Pod, *nodes: Node) -> tuple[int, ...]:
    plugin = ImageLocality()
    return plugin.score_token({}, PodInfo(pod), table_of(nodes).columns(plugin))


def test_the_token_changes_with_the_number_of_nodes_and_with_the_pods_images_elsewhere() -> None:
    pod = with_images("app:1", "other")
    tokens = [
        token(pod, make_node("a")),
        token(pod, make_node("a"), make_node("b")),
        token(pod, make_node("a"), make_node("b", images={"app:1": 1})),
        token(pod, make_node("a", images={"app:1": 1}), make_node("b", images={"app:1": 1})),
        token(pod, make_node("a"), make_node("b", images={"other:latest": 1})),
    ]
    assert all(left != right for left, right in itertools.combinations(tokens, 2))
    assert token(pod, make_node("a", images={"unrelated": 1})) == tokens[0]


def test_images_are_signed_as_a_multiset_with_those_of_volumes() -> None:
    def sign(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> tuple[str, ...]:
        return ImageLocality().sign(PodInfo(with_images(*images, init=init, volumes=volumes)))

    assert sign("a", "b:1") == sign("b:1", "a:latest") == sign("b:1", init=("a",)) == sign("a", volumes=("b:1",))
    different = [sign("a"), sign("a", "a"), sign("a:1"), sign("a", "b"), sign("a", volumes=("c",))]
    assert all(left != right for left, right in itertools.combinations(different, 2))
