"""Figures of decisions, as ``reprise bench decide`` prints them: over rounds, and as rows of a table."""

from __future__ import annotations

from statistics import median

import msgspec

from bench.machine import Machine


class CaseFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``reprise bench decide --output json``; times in microseconds."""

    nodes: int
    case: str
    cold_us_p50: float
    warm_us_p50: float
    warm_us_p99: float
    hit_ratio: float


class DecideRound(msgspec.Struct, frozen=True, kw_only=True):
    """All cases at one number of nodes, from one process."""

    number: int
    """Of the round, from 1."""
    cases: list[CaseFigures]
    others_cores: float
    """Cores that worked for others meanwhile: with much of it, no figure is worth anything."""


class Decisions(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="decide"):
    """A run of all rounds, as it is written to a file."""

    pods: int
    """A case."""
    command: str
    recorded_on: str
    machine: Machine
    rounds: list[DecideRound]

    @property
    def others_cores(self) -> float:
        """At worst."""
        return max(one.others_cores for one in self.rounds)

    @property
    def round_count(self) -> int:
        return len({one.number for one in self.rounds})


DECIDE_HEADINGS = ("case", "nodes", "cold p50", "warm p50", "warm p99", "hit ratio")


def medians(result: Decisions) -> list[CaseFigures]:
    """Each figure of each case by its median over the rounds: cases in their order, each from the fewest nodes to the most."""
    found: dict[tuple[str, int], list[CaseFigures]] = {}
    for one in result.rounds:
        for figures in one.cases:
            found.setdefault((figures.case, figures.nodes), []).append(figures)
    cases = list(dict.fromkeys(case for case, _ in found))
    ordered = sorted(found, key=lambda key: (cases.index(key[0]), key[1]))
    return [
        CaseFigures(
            nodes=nodes,
            case=case,
            cold_us_p50=median(one.cold_us_p50 for one in found[case, nodes]),
            warm_us_p50=median(one.warm_us_p50 for one in found[case, nodes]),
            warm_us_p99=median(one.warm_us_p99 for one in found[case, nodes]),
            hit_ratio=median(one.hit_ratio for one in found[case, nodes]),
        )
        for case, nodes in ordered
    ]


def decide_rows(result: Decisions) -> list[list[str]]:
    """All cases under DECIDE_HEADINGS; times in microseconds."""
    return [
        [
            one.case,
            f"{one.nodes:,}",
            f"{one.cold_us_p50:,.0f}",
            f"{one.warm_us_p50:,.1f}",
            f"{one.warm_us_p99:,.0f}",
            f"{one.hit_ratio:.4f}",
        ]
        for one in medians(result)
    ]
