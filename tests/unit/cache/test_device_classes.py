"""Extended resources served by a DeviceClass (kube-scheduler 1.37: DynamicResources, extended resource cache)."""

import pytest

from scheduler.api.objects import DeviceClass, DeviceClassSpec, ObjectMeta
from scheduler.cache.cache import Cache

OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
GPU = "example.com/gpu"


def device_class(name: str, resource: str | None = None, created: str = OLD) -> DeviceClass:
    return DeviceClass(
        metadata=ObjectMeta(name=name, creation_timestamp=created),
        spec=DeviceClassSpec(extended_resource_name=resource),
    )


@pytest.fixture
def cache() -> Cache:
    return Cache(seed=0)


def test_a_class_serves_the_resource_that_it_names_and_one_of_its_own_name(cache: Cache) -> None:
    cache.apply_device_class(device_class("gpu", GPU))
    assert cache.device_class_for(GPU) == "gpu"
    assert cache.device_class_for("deviceclass.resource.kubernetes.io/gpu") == "gpu"


def test_other_resources_are_not_served(cache: Cache) -> None:
    cache.apply_device_class(device_class("gpu"))
    names = (GPU, "gpu", "cpu", "deviceclass.resource.kubernetes.io/other", "deviceclass.resource.kubernetes.io/")
    assert [cache.device_class_for(name) for name in names] == [None] * 5


@pytest.mark.parametrize("newest_last", [True, False])
def test_of_several_classes_the_newest_serves(cache: Cache, newest_last: bool) -> None:
    classes = [device_class("a", GPU, OLD), device_class("z", GPU, NEW)]
    for each in classes if newest_last else reversed(classes):
        cache.apply_device_class(each)
    assert cache.device_class_for(GPU) == "z"


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_of_classes_of_one_age_the_first_by_name_serves(cache: Cache, names: tuple[str, str]) -> None:
    for name in names:
        cache.apply_device_class(device_class(name, GPU))
    assert cache.device_class_for(GPU) == "a"


def test_when_the_serving_class_goes_or_serves_another_resource_the_next_one_does(cache: Cache) -> None:
    for each in (device_class("a", GPU, OLD), device_class("b", GPU, NEW)):
        cache.apply_device_class(each)
    cache.apply_device_class(device_class("b", "example.com/fpga", NEW))
    assert cache.device_class_for(GPU) == "a"
    assert cache.device_class_for("example.com/fpga") == "b"
    cache.remove_device_class("a")
    assert cache.device_class_for(GPU) is None


def test_removing_an_unknown_class_changes_nothing(cache: Cache) -> None:
    cache.apply_device_class(device_class("gpu", GPU))
    cache.remove_device_class("other")
    assert cache.device_class_for(GPU) == "gpu"
