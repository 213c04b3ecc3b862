"""Random cases for the oracle: a seed and an index name a case for good, whatever else has been generated.

python -m tests.oracle.generate SEED COUNT     writes the lines of COUNT cases
"""

import copy
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracle.configs import broken, configuration
from tests.oracle.draw import Draw, Json, Setting
from tests.oracle.families import make_existing, make_node, make_pod, make_setting
from tests.oracle.families import objects as other_objects
from tests.oracle.pods import NAMESPACES
from tests.oracle.program import missing
from tests.oracle.rare import touch
from tests.oracle.refused import guard, refuse
from tests.oracle.scene import Scene
from tests.oracle.steps import Cluster

REFUSED = "refused"
# A theme makes one area of the rules frequent in a case; all others stay possible.
THEMES: dict[str, float] = {
    "mixed": 14,
    "resources": 12,
    "devices": 9,
    "strategy": 12,
    "balanced": 8,
    "levels": 6,
    "resize": 8,
    "besteffort": 5,
    "huge": 2,
    "affinity": 14,
    "taints": 8,
    "ports": 8,
    "images": 9,
    "profiles": 8,
}
RARE, RARE_SEQUENCE = 0.78, 0.79  # so often a case is made one of what chance reaches too seldom (rare.py)
# What cannot be read as a line, a pod or an object.
UNREADABLE = (
    "{",
    "[]",
    "null",
    "7",
    '{"objects":[],"pod":',
    '{"objects":[]}',
    '{"objects":[],"pod":null,"config":null}',
    '{"objects":[],"pod":[],"config":null}',
    '{"objects":[{"kind":"Node","metadata":[]}],"pod":{"metadata":{"name":"p"}},"config":null}',
    '{"objects":{},"pod":{"metadata":{"name":"p"}},"config":null}',
    '{"objects":[],"pod":{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"lots"}}}]}}}',
    '{"objects":[],"pod":{"metadata":{"name":"p"},"spec":{"containers":{"name":"c"}}}}',
)


@dataclass(frozen=True)
class Case:
    """Lines that belong together: a whole state, then the steps on it. A line is text, because it may be unreadable."""

    name: str
    lines: tuple[str, ...]
    expect: tuple[str, ...] = ()  # what each line must give, where it is not the oracle's answer: "refused", else ""

    @property
    def is_alone(self) -> bool:
        """Whether one plugin is asked alone (alone.py)."""
        return '"alone":' in self.lines[0]

    def expected(self, index: int) -> str:
        return self.expect[index] if self.expect else ""


def encode(line: Json) -> str:
    return json.dumps(line, separators=(",", ":"))


def cases(seed: int, count: int, start: int = 0) -> Iterator[Case]:
    """Cases of one line."""
    for index in range(start, start + count):
        yield case(seed, index)


def sequences(seed: int, count: int, start: int = 0, exactly: int | None = None) -> Iterator[Case]:
    """Cases of a whole state and 1 to 20 steps, or exactly so many."""
    for index in range(start, start + count):
        yield sequence(seed, index, exactly=exactly)


def case(seed: int, index: int, *, nodes: int = 12, pods: int = 25) -> Case:
    """Case `index` of a seed, with at most so many nodes and pods."""
    draw, name = Draw(f"{seed}/{index}"), f"s{seed}-{index}"
    if draw.chance(0.012):
        return Case(name, (draw.pick(UNREADABLE),))
    if draw.chance(0.005):
        nodes, pods = nodes * 12, pods * 2
    setting, made_nodes, made_pods, others, config, wanted = cluster(draw, nodes, pods)
    objects = [*made_nodes, *made_pods, *others]
    if draw.chance(0.03):
        feature = refuse(draw, objects, wanted)
        refused = encode({"objects": objects, "pod": wanted, "config": None})
        return Case(f"{name}-{REFUSED}-{feature.replace(' ', '-')}", (refused,), (REFUSED,))
    if config is not None and draw.chance(0.05):
        config = broken(draw, config)
    draw_objects = draw.some(objects, len(objects), len(objects))
    if not others and draw.chance(0.1):
        draw_objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "uid-shop"}})
    line: Json = {"objects": draw_objects, "pod": wanted, "config": config}
    if draw.chance(0.03):
        line["note"] = setting.theme  # unknown keys are ignored
    return Case(f"{name}-{setting.theme}", (encode(line),))


def cluster(
    draw: Draw, nodes: int, pods: int, rarely: float = RARE
) -> tuple[Setting, list[Json], list[Json], list[Json], Json | None, Json]:
    """What the case is about, nodes, pods, all other objects, the configuration and the pod to evaluate."""
    setting, rare = make_setting(draw, THEMES), draw.chance(rarely)
    low, high = (3, 7) if setting.looks_beyond or rare else (1, draw.pick((min(3, nodes), nodes)))
    names = [f"n{i + 1}" for i in range(draw.whole(min(low, nodes), min(high, nodes)))]
    made_nodes = [make_node(draw, name, f"uid-{name}", setting) for name in names]
    count = draw.whole(0, draw.pick((min(6, pods), pods)))
    if setting.looks_beyond:
        count = max(count, draw.whole(0, min(9, pods)))
    made_pods = [make_existing(draw, f"p{i}", f"uid-p{i}", setting, names) for i in range(count)]
    if draw.chance(0.02):
        made_pods.append(guard(draw, "", reaching=False))
    config, profiles = configuration(draw, setting, names)
    wanted = wanted_pod(draw, setting, names, profiles, made_pods)
    others = other_objects(draw, setting, names, [*made_pods, wanted])
    if rare:
        scene = Scene(draw, made_nodes, made_pods, others, config, wanted)
        touch(scene)
        config = scene.config
    return setting, made_nodes, made_pods, others, config, wanted


def wanted_pod(draw: Draw, setting: Setting, names: list[str], profiles: list[str], pods: list[Json]) -> Json:
    """The pod to evaluate: mostly a new one; else one of the state's pods, bound or not, or a newer version of it."""
    if pods and draw.chance(0.12):
        wanted = known(draw, pods)
        if draw.chance(0.3):
            wanted["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "300m"}}
    else:
        wanted = make_pod(draw, "wanted", "uid-wanted", setting, names)
        if draw.chance(0.04):
            wanted["spec"]["nodeName"] = draw.pick((*names, "gone"))
    if draw.chance(0.9):
        wanted["spec"]["schedulerName"] = draw.pick((*profiles, profiles[0], "unknown"))
    return wanted


def known(draw: Draw, pods: list[Json]) -> Json:
    """A copy of one of the state's pods; without anti-affinity as long as no rule exists for it."""
    made = copy.deepcopy(draw.pick(pods))
    if "InterPodAffinity" in missing():
        made["spec"].get("affinity", {}).pop("podAntiAffinity", None)
    if made["metadata"]["namespace"] not in NAMESPACES:
        made["metadata"]["namespace"] = NAMESPACES[0]
    return made


def sequence(
    seed: int, index: int, *, nodes: int = 8, pods: int = 15, steps: int = 20, exactly: int | None = None
) -> Case:
    """Sequence `index` of a seed, of at most `steps` or `exactly` so many; a few shapes of pods come again and again."""
    draw = Draw(f"{seed}/sequence/{index}")
    setting, made_nodes, made_pods, others, config, wanted = cluster(draw, nodes, pods, RARE_SEQUENCE)
    names = [one["metadata"]["name"] for one in made_nodes]
    shapes = [wanted, *(make_pod(draw, f"shape{i}", "", setting, names) for i in range(draw.whole(0, 2)))]
    for shape in shapes[1:]:
        shape["spec"]["schedulerName"] = wanted["spec"].get("schedulerName", "default-scheduler")
    lines = [encode({"objects": [*made_nodes, *made_pods, *others], "pod": wanted, "config": config})]
    changing, shown = Cluster(draw, setting, made_nodes, made_pods, others), wanted
    drawn = draw.whole(1, steps)  # also when it is not used: all else stays as it is
    for number in range(exactly or drawn):
        line = changing.step() if draw.chance(0.9) else {"apply": []}
        # The very same pod again lets an evaluation be kept and refreshed; another of its shape, a signature.
        kind = draw.weighted({"same": 60, "shape": 32, "known": 8})
        if kind == "shape":
            shown = copy.deepcopy(draw.pick(shapes))
            shown["metadata"] |= {"name": f"wanted{number}", "uid": f"uid-wanted{number}"}
        elif kind == "known" and changing.pods:
            shown = known(draw, list(changing.pods.values()))
        lines.append(encode(line | {"pod": shown}))
    return Case(f"s{seed}-sequence{index}-{setting.theme}", tuple(lines))


def main() -> None:
    seed, count = (int(argument) for argument in sys.argv[1:3])
    for made in cases(seed, count):
        sys.stdout.writelines(f"{line}\n" for line in made.lines)


if __name__ == "__main__":
    main()
