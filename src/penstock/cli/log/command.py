"""`penstock log`: show, verify and repair stored logs. It works on directories, without a broker."""

from __future__ import annotations

import dataclasses
import sys
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from penstock.cli.kafka.topic import OutputOption
from penstock.cli.log import segment_dump
from penstock.cli.log.targets import Target, data_root, exclusive, find_targets, identify, is_in_use
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, json_text, note, print_json, print_table
from penstock.model.counted import counted

if TYPE_CHECKING:
    from penstock.storage.recovery.verify import Report

app = typer.Typer(no_args_is_help=True, help="Show, verify and repair stored logs (offline).")

Where = Annotated[Path, typer.Argument(metavar="PATH", help="A data directory, or the directory of one partition.")]
Topic = Annotated[str | None, typer.Option("--topic", "-t", help="Only this topic of a data directory.")]
Partition = Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Only this partition.")]


@app.command()
def dump(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A segment file, the directory of a partition, or a data directory.")
    ],
    topic: Topic = None,
    partition: Partition = None,
    records: Annotated[bool, typer.Option("--records", "-r", help="Show the records as well.")] = False,
    from_offset: Annotated[int, typer.Option("--from", min=0, metavar="OFFSET", help="Start at this offset.")] = 0,
    count: Annotated[
        int | None,
        typer.Option("--count", "-n", min=1, help="Stop after this many batches (with --records: records)."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the record batches of segments and the aborted transactions. Exits with 5 if there are bad bytes."""
    _note_use(path)
    bad = 0
    left = sys.maxsize if count is None else count
    for segment in _segments(path, topic, partition):
        if output is Output.TABLE:
            sys.stdout.write(f"{segment.name}\n{segment_dump.heading()}\n")
        aborted = segment_dump.aborted_transactions(segment.path, from_offset)
        for entry in chain(segment_dump.entries(segment.path, from_offset, records), aborted):
            line = segment.json_line(entry) if output is Output.JSON else segment_dump.text_line(entry)
            sys.stdout.write(line + "\n")
            bad += entry.kind == "bad"
            left -= entry.kind == ("record" if records else "batch")
            if not left:
                break
        if not left:
            break
    if bad:
        hint = f"`penstock log verify {path if path.is_dir() else path.parent}` shows what is lost"
        raise CommandError(f"bad bytes in {counted(bad, 'place')}", ExitCode.DAMAGED, hint=hint)


def _note_use(path: Path) -> None:
    root = data_root(path)
    if root is not None and is_in_use(root):
        note(f"a broker is using {root}; the newest batches of a log may look torn while it writes")


class _Segment(NamedTuple):
    name: str
    path: Path
    target: Target | None

    def json_line(self, entry: segment_dump.Entry) -> str:
        """Format an entry; topic and partition are null for a file outside a data directory."""
        topic = self.target.topic if self.target else None
        partition = self.target.partition if self.target else None
        fields = segment_dump.json_fields(entry)
        return json_text({"kind": entry.kind, "topic": topic, "partition": partition, **fields})


def _segments(path: Path, topic: str | None, partition: int | None) -> list[_Segment]:
    if path.is_file():
        if not segment_dump.is_segment(path):
            hint = "a segment is a file such as 00000000000000000000.log in the directory of a partition"
            raise CommandError(f"{path} is not a segment: it contains no record batch", ExitCode.USAGE, hint=hint)
        return [_Segment(str(path), path, identify(path.parent) if data_root(path) else None)]
    return [
        _Segment(f"{target.name} {segment.name}", segment, target)
        for target in find_targets(path, topic, partition)
        for segment in segment_dump.segment_files(target.directory)
    ]


@app.command()
def verify(path: Where, topic: Topic = None, partition: Partition = None, output: OutputOption = Output.TABLE) -> None:
    """Check every batch without changing anything. Exits with 5 if there is damage."""
    _note_use(path)
    targets = find_targets(path, topic, partition)
    reports = [_verify(target) for target in targets]
    _show(targets, reports, output)
    damaged = sum(not report.is_sound for report in reports)
    if damaged:
        hint = f"`penstock log repair {path}` shows what can be done"
        verb = "is" if damaged == 1 else "are"
        raise CommandError(f"{damaged} of {counted(len(reports), 'log')} {verb} damaged", ExitCode.DAMAGED, hint=hint)
    if output is Output.TABLE:
        note(_sound(len(reports)))


def _sound(count: int) -> str:
    return f"{counted(count, 'log')} verified: no damage" if count else "there are no logs yet"


def _verify(target: Target) -> Report:
    from penstock.runtime.files import RealFiles
    from penstock.storage.recovery.verify import verify_log

    return verify_log(RealFiles(), target.directory, log_start=target.log_start, compacted=target.compacted)


@app.command()
def repair(
    path: Where,
    topic: Topic = None,
    partition: Partition = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Carry out the repair; without this it is only shown.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Repair damaged logs: move bad bytes into .damaged files and accept gaps. Shows the plan unless --execute.

    No broker may be using the directory. A torn tail needs no repair: the broker cuts it off, and keeps it, at start.
    """
    from penstock.runtime.files import RealFiles
    from penstock.storage.recovery.repair import repair_log

    targets = find_targets(path, topic, partition)
    with exclusive(data_root(path) if execute else None):
        found = [(target, _verify(target)) for target in targets]
        damaged = [(target, report) for target, report in found if not report.is_sound]
        if execute:
            now_ms = time.time_ns() // 1_000_000
            for target, _ in damaged:
                start, compacted = target.log_start, target.compacted
                repair_log(RealFiles(), target.directory, now_ms=now_ms, log_start=start, compacted=compacted)
    if output is Output.JSON:
        print_json({"executed": execute, "logs": [_document(target, report) for target, report in damaged]})
    else:
        rows = [(target.name, step) for target, report in damaged for step in report.repair_steps]
        if rows:
            print_table(["log", "done" if execute else "to do"], rows)
    if not damaged:
        note(f"nothing to repair in {counted(len(targets), 'log')}")
    elif not execute:
        note("nothing was changed; add --execute to repair")


def _show(targets: list[Target], reports: list[Report], output: Output) -> None:
    pairs = list(zip(targets, reports, strict=True))
    if output is Output.JSON:
        print_json([_document(target, report) for target, report in pairs])
        return
    if not pairs:
        return
    rows = [
        (
            target.name,
            len(report.segments),
            report.batches,
            report.records,
            sum(segment.size for segment in report.segments),
            report.log_end,
            "sound" if report.is_sound else "DAMAGED",
        )
        for target, report in pairs
    ]
    columns = ["log", "segments", "batches", "records", "bytes", "end", "state"]
    print_table(columns, rows, numbers=["segments", "batches", "records", "bytes", "end"])
    for target, report in pairs:
        for region in report.bad:
            print(f"{target.name}: {region.describe()}")
        for first, end in report.missing:
            print(f"{target.name}: offsets {first} to {end - 1} are missing")


def _document(target: Target, report: Report) -> dict[str, Any]:
    return {
        "topic": target.topic,
        "partition": target.partition,
        "sound": report.is_sound,
        **dataclasses.asdict(report),
        "lost": report.lost,
        "repair_steps": report.repair_steps,
    }
