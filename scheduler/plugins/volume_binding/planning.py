"""Making the Plan of a pod from its claims and what storage there is."""

from __future__ import annotations

from scheduler.api.storage import PersistentVolumeClaim
from scheduler.framework.storage import Storage
from scheduler.plugins.volume_binding.bound import BoundVolume
from scheduler.plugins.volume_binding.catalogue import CapacityCatalogue
from scheduler.plugins.volume_binding.claims import PodClaims
from scheduler.plugins.volume_binding.facts import Claim, read_claim
from scheduler.plugins.volume_binding.matching import Candidates
from scheduler.plugins.volume_binding.plan import Plan, WaitingClaim
from scheduler.plugins.volume_binding.provisioning import Provisioning


def make_plan(claims: PodClaims, storage: Storage, catalogue: CapacityCatalogue) -> Plan:
    """The plan for claims of which none is immediate."""
    delayed = [read_claim(claim) for claim in claims.delayed]
    selected = [claim for claim in delayed if claim.selected_node is not None]
    # Python's sort keeps equal claims in the order of the pod's volumes.
    others = sorted((claim for claim in delayed if claim.selected_node is None), key=lambda claim: claim.size)
    waiting = [_waiting(claim, storage, catalogue) for claim in (*selected, *others)]
    return Plan([_bound_volume(claim, storage) for claim in claims.bound], waiting)


def _waiting(claim: Claim, storage: Storage, catalogue: CapacityCatalogue) -> WaitingClaim:
    storage_class = storage.storage_class(claim.storage_class)
    assert storage_class is not None  # else nothing says that the claim waits for the pod
    name = claim.storage_class
    volumes = storage.volumes_of_class(name)
    capacities = catalogue.of(name, storage.capacities_of_class(name))
    candidates = None
    if claim.selected_node is None:
        held = storage.volumes_for_claim(claim.object.metadata.namespace, claim.object.metadata.name)
        candidates = Candidates(claim, volumes, held)
    return WaitingClaim(claim, candidates, volumes.listed(), Provisioning(claim, storage_class, storage, capacities))


def _bound_volume(claim: PersistentVolumeClaim, storage: Storage) -> BoundVolume | None:
    volume = storage.volume(claim.spec.volume_name)
    return None if volume is None else BoundVolume(volume, storage)
