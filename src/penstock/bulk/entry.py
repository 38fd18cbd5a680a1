"""The content of a job's marker: plain JSON.

    {"kind": "load" or "replay", "job": its name, "topic": …, "topic_id": …, "settings": {…},
     "position": where to continue, "rows": written so far, "is_done": …}

Kinds of jobs add fields of their own.
"""

from __future__ import annotations

from typing import Any

from penstock.bulk.errors import Changed, Unfit
from penstock.bulk.topics import KnownTopic

Entry = dict[str, Any]


def new_entry(kind: str, job: str, topic: KnownTopic, settings: dict[str, Any], **more: Any) -> Entry:
    """The entry of a job that has done nothing yet."""
    return {
        "kind": kind,
        "job": job,
        "topic": topic.name,
        "topic_id": topic.topic_id,
        "settings": {**settings, "topic": topic.name},
        "position": None,
        "rows": 0,
        "is_done": False,
        **more,
    }


def check_kind(entry: Entry, kind: str) -> None:
    if entry.get("kind") != kind:
        raise Unfit(f"a job of this name is a {entry.get('kind')}, not a {kind}", "choose another --job")


def check_settings(then: dict[str, Any], now: dict[str, Any]) -> None:
    """Check that a job continues with the settings that it began with."""
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) != then.get(name):
            hint = "use the same, or give --job a new name to start over"
            raise Changed(f"the job began with {name} {then.get(name)!r}, now it is {now.get(name)!r}", hint)


def usable_entry(entry: Entry | None, topic: KnownTopic, *, again: bool) -> tuple[Entry | None, str]:
    """The entry to continue from, and a remark if it is not the one that was found.

    A topic that was created again has none of the rows. `again` repeats a job that is done; an unfinished one
    continues.
    """
    if entry is None:
        return None, ""
    if entry.get("topic_id") != topic.topic_id and entry.get("topic") == topic.name:
        return None, f"topic {topic.name} was created again since the job ran: beginning with the first row"
    if again and entry.get("is_done"):
        return None, "the job was done before: beginning again with the first row"
    return entry, ""
