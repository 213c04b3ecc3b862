"""Which DeviceClass serves an extended resource (kube-scheduler 1.37: DynamicResources, extended resource cache)."""

from __future__ import annotations

from scheduler.api.objects import DeviceClass

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class DeviceClassIndex:
    """Device classes by name and by the extended resource that they say to serve."""

    def __init__(self) -> None:
        self.classes: dict[str, DeviceClass] = {}
        self._by_resource: dict[str, dict[str, DeviceClass]] = {}

    def apply(self, device_class: DeviceClass) -> DeviceClass | None:
        """Returns the class of this name that was known."""
        known = self.remove(device_class.metadata.name)
        self.classes[device_class.metadata.name] = device_class
        resource = device_class.spec.extended_resource_name
        if resource is not None:
            self._by_resource.setdefault(resource, {})[device_class.metadata.name] = device_class
        return known

    def remove(self, name: str) -> DeviceClass | None:
        """Returns the class that was known."""
        known = self.classes.pop(name, None)
        resource = None if known is None else known.spec.extended_resource_name
        if resource is not None:
            del self._by_resource[resource][name]
            if not self._by_resource[resource]:
                del self._by_resource[resource]
        return known

    def serving(self, resource: str) -> str | None:
        """The class that serves the resource: of several the newest, then the first by name; None if there is none."""
        candidates = self._by_resource.get(resource)
        if candidates:
            created = {name: each.metadata.creation_timestamp or "" for name, each in candidates.items()}
            newest = max(created.values())  # RFC 3339 in UTC and whole seconds: as text and in time they sort alike
            return min(name for name, each in created.items() if each == newest)
        name = resource.removeprefix(IMPLICIT_PREFIX)
        return name if name != resource and name in self.classes else None
