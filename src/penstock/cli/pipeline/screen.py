"""Progress of an update on stderr: live bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from penstock.cli.pipeline.events import ENDED, FlowProgress, UpdateProgress
from penstock.cli.terminal.output import console, note

if TYPE_CHECKING:
    from rich.console import RenderableType

Tell = Callable[[UpdateProgress, str], None]
REFRESHES_PER_S = 5
_COLOURS = {"completed": "green", "failed": "red", "running": "cyan"}


@contextlib.contextmanager
def progress_screen() -> Iterator[Tell]:
    """Yield a function to call after each event, with the progress and the line about the event."""
    if not sys.stderr.isatty():
        yield lambda _, line: note(line) if line else None
        return
    from rich.live import Live

    with Live(console=console(stderr=True), refresh_per_second=REFRESHES_PER_S) as live:
        yield lambda progress, _: live.update(picture(progress))


def picture(progress: UpdateProgress) -> RenderableType:
    from rich import box
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("flow", "", "state", "rows", "rows/s", "batches", "last batch", "lag"):
        right = column not in ("flow", "", "state")
        table.add_column(column, justify="right" if right else "left", no_wrap=True)
    for flow in progress.flows.values():
        bar = ProgressBar(total=100, completed=100 * _done(flow), width=24, pulse=_is_pulsing(flow))
        state = f"[{_COLOURS.get(flow.state, 'dim')}]{flow.state}[/]"
        seconds = f"{flow.batch_seconds:.2f} s" if flow.batches else ""
        table.add_row(flow.name, bar, state, *_figures(flow), seconds, "" if flow.lag is None else f"{flow.lag:,}")
    return table


def _figures(flow: FlowProgress) -> tuple[str, str, str]:
    if not flow.batches:
        return "", "", ""
    return f"{flow.rows:,}", f"{flow.rows_per_second:,.0f}", str(flow.batches)


def _is_pulsing(flow: FlowProgress) -> bool:
    """Return whether the flow is working with an unknown amount left."""
    return flow.state in ("starting", "running") and (flow.lag is None or not flow.rows)


def _done(flow: FlowProgress) -> float:
    """Return the fraction of its records that a flow has read; 1 if it completed."""
    if flow.state in ENDED:
        return 1.0 if flow.state == "completed" else 0.0
    return flow.rows / (flow.rows + flow.lag) if flow.rows and flow.lag is not None else 0.0
