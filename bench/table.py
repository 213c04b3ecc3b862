"""Figures of a run as rows: for the terminal and for docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Sequence

from bench.figures import Median, Result, medians, ratio

HEADINGS = (
    "contestant",
    "pods/s to last bind",
    "pods/s to last Event",
    "Events",
    "CPU ms/pod",
    "start-up CPU s",
    "ready s",
    "RSS MB",
    "apiserver ms/pod",
    "etcd ms/pod",
    "bound twice",
    "overcommitted",
    "others' cores",
)


def row(one: Median) -> list[str]:
    """A contestant's figures under HEADINGS."""
    return [
        one.contestant,
        f"{one.pods_per_second:.0f}",
        f"{one.pods_per_second_events:.0f}",
        f"{one.events:.0f}",
        f"{one.cpu_ms_per_pod:.3f}",
        f"{one.startup_cpu_seconds:.2f}",
        f"{one.ready_seconds:.2f}",
        f"{one.rss_mb:.0f}",
        f"{one.apiserver_cpu_ms_per_pod:.2f}",
        f"{one.etcd_cpu_ms_per_pod:.2f}",
        str(one.bound_twice),
        str(one.overcommitted_nodes),
        f"{one.others_cores:.2f}",
    ]


def rows(result: Result) -> list[list[str]]:
    """All contestants' figures."""
    return [row(one) for one in medians(result).values()]


def ratio_rows(result: Result) -> list[list[str]]:
    """Reprise against each of the others: pods a second to the last bind and to the last Event, and CPU a pod."""
    found = medians(result)
    return [
        [
            f"reprise / {other}",
            _times(ratio(found, other, "pods_per_second")),
            _times(ratio(found, other, "pods_per_second_events")),
            _times(ratio(found, other, "cpu_ms_per_pod")),
            _times(ratio(found, other, "rss_mb")),
        ]
        for other in found
        if other != "reprise" and "reprise" in found
    ]


RATIO_HEADINGS = ("", "pods/s to last bind", "pods/s to last Event", "CPU a pod", "RSS")


def plain(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """For the terminal: columns as wide as they need to be, headings on several lines."""
    split = [heading.split(" ") for heading in headings]
    height = max(len(words) for words in split)
    top = [[words[index] if index < len(words) else "" for words in split] for index in range(height)]
    grid = [*top, *lines]
    widths = [max(len(cells[column]) for cells in grid) for column in range(len(headings))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in grid
    )


def markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """For a document."""
    ruler = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ruler, *lines))


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"
