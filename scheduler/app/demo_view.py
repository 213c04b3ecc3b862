"""What the demo shows: a live view while it runs, a summary at its end."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scheduler.app.demo_tally import Decisions, Tally
from scheduler.app.runtime import Runtime
from scheduler.queue.queued_pod import Room

BAR_WIDTH = 50


def live_view(runtime: Runtime, tally: Tally, pods: int, seconds: float) -> RenderableType:
    """Progress, the rooms of the queue, and the latest reason why a pod waits."""
    counts = runtime.state.queue.counts()
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("bound", f"{tally.bound} of {pods}")
    table.add_row("pods per second", f"{tally.bound / seconds:.0f}" if seconds else "")
    table.add_row("binds on their way", str(len(runtime.state.bindings)))
    for room in (Room.ACTIVE, Room.BACKOFF, Room.UNSCHEDULABLE, Room.GATED):
        table.add_row(room.value, str(counts[room]))
    return Group(ProgressBar(total=pods, completed=tally.bound, width=BAR_WIDTH), table, _waiting(runtime))


def _waiting(runtime: Runtime) -> RenderableType:
    plugins = runtime.state.queue.unschedulable_plugins()
    if not plugins:
        return Text("")
    named = ", ".join(f"{plugin}: {count}" for (plugin, _), count in plugins.most_common(3))
    return Text(f"waiting because of {named}", style="yellow")


def summary_view(nodes: int, summary: dict[str, Any], decisions: Decisions) -> RenderableType:
    """The figures of the run, one a line."""
    table = Table(title=f"reprise demo on {nodes} nodes", box=box.SIMPLE, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    batch = summary["batch"]
    shown = {name: value for name, value in summary.items() if name != "batch"}
    shown["microseconds a decision, p50"] = f"{decisions.quantile_us(0.5):.0f}"
    shown["microseconds a decision, p99"] = f"{decisions.quantile_us(0.99):.0f}"
    shown |= {f"batch {name}": value for name, value in batch.items() if not isinstance(value, dict)}
    shown |= {f"batch flushed, {reason}": count for reason, count in batch["flushed"].items()}
    shown |= {f"batch bypassed, {reason}": count for reason, count in batch["bypassed"].items()}
    for name, value in shown.items():
        table.add_row(name.replace("_", " "), str(value))
    return table
