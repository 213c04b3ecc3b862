"""Which resource names are counted."""

import pytest

from scheduler.api.resources import is_counted, is_extended, is_pod_level, is_qualified_name, is_scalar


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("example.com/gpu", True),
        ("nvidia.com/gpu.shared", True),
        ("gpu", False),  # no domain
        ("kubernetes.io/batch", False),  # Kubernetes' own
        ("x.kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),  # would be a quota's name
        ("example.com/", False),
        ("example.com/bad name", False),
        ("Example.com/gpu", False),  # the domain is lower case
        ("a/b/c", False),
        ("example.com/" + "g" * 63, True),
        ("example.com/" + "g" * 64, False),
    ],
)
def test_an_extended_resource_is_a_name_under_a_foreign_domain(name: str, extended: bool) -> None:
    assert is_extended(name) is extended


@pytest.mark.parametrize(
    ("name", "scalar"),
    [
        ("example.com/gpu", True),
        ("hugepages-2Mi", True),
        ("attachable-volumes-aws-ebs", True),
        ("kubernetes.io/batch", True),
        ("deviceclass.resource.kubernetes.io/gpu", True),
        ("cpu", False),
        ("pods", False),
        ("foo", False),
    ],
)
def test_scalars_are_extended_and_prefixed_native_resources(name: str, scalar: bool) -> None:
    assert is_scalar(name) is scalar


def test_cpu_memory_and_ephemeral_storage_are_counted_besides_scalars() -> None:
    names = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "pods", "storage", "foo")
    assert [name for name in names if is_counted(name)] == ["cpu", "memory", "ephemeral-storage", "example.com/gpu"]


def test_pod_level_requests_may_be_for_cpu_memory_and_huge_pages() -> None:
    names = ("cpu", "memory", "hugepages-1Gi", "ephemeral-storage", "example.com/gpu")
    assert [name for name in names if is_pod_level(name)] == ["cpu", "memory", "hugepages-1Gi"]


def test_a_qualified_name_needs_a_name_and_a_lower_case_domain_if_any() -> None:
    names = ("a", "example.com/a", "", "/a", "a/", "A.b/c", "-a", "a-")
    assert [name for name in names if is_qualified_name(name)] == ["a", "example.com/a"]
