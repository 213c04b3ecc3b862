"""Random volumes of pods: claims, generic ephemeral ones, and disks named in the pod itself."""

from tests.oracle.draw import Draw, Json
from tests.oracle.storage import CLAIMS, claim


def disk(draw: Draw) -> Json:
    """Disks that only one pod may use, or several when all of them only read; and those that a CSI driver serves by now."""
    match draw.weighted(
        {"gce": 30, "ebs": 25, "iscsi": 20, "rbd": 34, "azure": 4, "cinder": 4, "file": 3, "vsphere": 3}
    ):
        case "ebs":
            made: Json = {"awsElasticBlockStore": {"volumeID": draw.pick(("vol-1", "vol-1", "vol-3"))}}
        case "iscsi":
            made = {
                "iscsi": {"targetPortal": "t", "iqn": draw.pick(("iqn-1", "iqn-1", "iqn-2")), "lun": draw.pick((0, 1))}
            }
        case "rbd":
            made = {
                "rbd": {
                    "monitors": draw.some(("m1", "m2", "m3"), 1, 2),
                    "image": draw.pick(("i1", "i1", "i1", "i2")),
                    "pool": draw.pick(("rbd", "rbd", "rbd", "other")),
                }
            }
        case "azure":
            made = {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/s/d"}}
        case "cinder":
            made = {"cinder": {"volumeID": "c-1"}}
        case "file":
            made = {"azureFile": {"secretName": "s", "shareName": "share"}}
        case "vsphere":
            made = {draw.pick(("vsphereVolume", "portworxVolume")): {"volumePath": "v", "volumeID": "v"}}
        case _:
            made = {"gcePersistentDisk": {"pdName": draw.pick(("disk-1", "disk-1", "disk-2"))}}
    for kind in ("gcePersistentDisk", "iscsi", "rbd", "awsElasticBlockStore"):
        if kind in made and draw.chance(0.5):
            made[kind]["readOnly"] = True
    return made


def dress_pod(draw: Draw, pod: Json, *, running: bool) -> None:
    """One to three volumes of storage; running pods use disks and claims, whether or not those are bound."""
    made: list[Json] = []
    kinds = draw.several(
        1, draw.pick((1, 1, 2, 3)), lambda: draw.weighted({"claim": 68, "disk": 26, "ephemeral": 7, "other": 7})
    )
    for kind in kinds:
        match kind:
            case "claim":
                name = draw.pick(CLAIMS) if draw.chance(0.94) else draw.pick(("unknown", ""))
                made.append({"persistentVolumeClaim": {"claimName": name}})
            case "ephemeral":
                made.append({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
            case "other":
                made.append(
                    draw.pick(({"emptyDir": {}}, {"csi": {"driver": "csi.example.com"}}, {"nfs": {"path": "/"}}))
                )
            case _:
                made.append(disk(draw))
    if running and draw.chance(0.4):
        return
    mounted = pod["spec"].setdefault("volumes", [])
    mounted += [{"name": f"s{number}", **one} for number, one in enumerate(made)]


def ephemeral_claims(draw: Draw, pod: Json, nodes: list[str]) -> list[Json]:
    """What the ephemeral volume controller has made for the pod: mostly the claim, under the pod's name and ownership."""
    made = []
    for one in pod["spec"].get("volumes", ()):
        if "ephemeral" in one and draw.chance(0.85):
            meta = pod["metadata"]
            uid = meta["uid"] if draw.chance(0.75) else "uid-other"
            owner = {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": meta["name"],
                "uid": uid,
                "controller": draw.chance(0.97),
            }
            made.append(claim(draw, f"{meta['name']}-{one['name']}", meta["namespace"], nodes, owner))
    return made


def args(draw: Draw) -> Json:
    """Of VolumeBinding."""
    made: Json = {}
    if draw.chance(0.3):
        made["bindTimeoutSeconds"] = draw.pick((1, 600))
    if draw.chance(0.9):
        points = sorted(draw.some(range(101), 1, 4))
        made["shape"] = [{"utilization": point, "score": draw.whole(0, 10)} for point in points]
    return made
