"""Random container images, on nodes and in pods, with sizes around ImageLocality's thresholds."""

from tests.oracle.draw import MI, Draw, Json

DIGEST = "sha256:" + "0123456789abcdef" * 4
REPOSITORIES = ("app", "library/db", "registry.example/team/web", "localhost:5000/tool")
LOWEST, HIGHEST = 23 * MI, 1000 * MI  # of a pod with one image
SIZES = (
    0,
    1,
    LOWEST - 1,
    LOWEST,
    LOWEST + 1,
    50 * MI,
    262144000,
    500 * MI,
    777777777,
    HIGHEST - 1,
    HIGHEST,
    HIGHEST + 1,
    2 * HIGHEST,
    2 * HIGHEST + 1,
    3 * HIGHEST,
    12 * HIGHEST,
)


def reference(draw: Draw) -> str:
    """An image as a pod names it: with a tag, without one (`:latest` is meant), by digest, or with both."""
    repository = draw.pick(REPOSITORIES)
    ending = draw.weighted({":v1": 30, "": 25, ":latest": 20, f"@{DIGEST}": 12, f":v1@{DIGEST}": 8, ":v2": 5})
    return repository + ending


def node_images(draw: Draw, often: float) -> list[Json]:
    """status.images: most entries have a digest and a tag; a name can come twice, with another size."""
    if not draw.chance(often):
        return []

    def entry() -> Json:
        repository = draw.pick(REPOSITORIES)
        names = [f"{repository}@{DIGEST}"] if draw.chance(0.5) else []
        names += [
            f"{repository}{tag}" for tag in draw.some((":v1", ":latest", ":v2", f":v1@{DIGEST}"), 0 if names else 1, 2)
        ]
        if draw.chance(0.05):
            names.append(repository)  # no tag: no pod can mean it
        made: Json = {"names": names}
        if size := draw.pick(SIZES):
            made["sizeBytes"] = size
        return made

    return draw.several(1, 6, entry)
