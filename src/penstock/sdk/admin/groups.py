"""Groups: members, offsets, lag, resets, over librdkafka."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as LibraryPlace
from confluent_kafka.admin import OffsetSpec

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.admin.link import Link
from penstock.sdk.admin.topics import check_partitions, known_topic, offsets
from penstock.sdk.admin.values import GroupInfo, GroupListing, GroupMember, GroupOffset
from penstock.sdk.arguments import checked_name
from penstock.sdk.errors import CommitFailed, GroupInUse, NotFound, SettingsError
from penstock.sdk.librdkafka.errors import translate, translated
from penstock.sdk.options import Start


def listed(link: Link) -> list[GroupListing]:
    with translated("groups"):
        found = link.library.list_consumer_groups(request_timeout=link.timeout_s).result()
    for error in found.errors:
        raise translate(error, "groups")
    return sorted(
        (GroupListing(name=each.group_id, state=each.state.name.lower()) for each in found.valid),
        key=lambda each: each.name,
    )


def describe(link: Link, name: str) -> GroupInfo:
    _check_known(link, name)
    answers = link.library.describe_consumer_groups([name], request_timeout=link.timeout_s)
    found = link.answer(answers, f"group {name}")
    members = tuple(_member(each) for each in found.members)
    places = {place for member in members for place in member.partitions}
    return GroupInfo(
        name=name,
        state=found.state.name.lower(),
        assignor=found.partition_assignor,
        members=members,
        offsets=_offsets(link, name, places),
    )


def lag(link: Link, name: str) -> dict[TopicPartition, int]:
    """Lag of the partitions in which the group has committed an offset."""
    _check_known(link, name)
    return {each.place: each.lag for each in _offsets(link, name, set()) if each.lag is not None}


def delete(link: Link, name: str) -> None:
    checked_name(name, "group")
    answers = link.library.delete_consumer_groups([name], request_timeout=link.timeout_s)
    link.answer(answers, f"group {name}")


def reset(
    link: Link, name: str, to: Start, topic: str | None, partitions: Sequence[int] | None
) -> dict[TopicPartition, int]:
    """Return the new offsets.

    One outside of a log is moved to its nearer end, since a consumer could not start there.
    """
    checked_name(name, "group")
    places = _places(link, name, topic, partitions)
    targets = _targets(link, places, to)
    wanted = [LibraryPlace(*place, offset) for place, offset in targets.items()]
    request = [ConsumerGroupTopicPartitions(name, wanted)]
    try:
        answers = link.library.alter_consumer_group_offsets(request, request_timeout=link.timeout_s)
        answer = link.answer(answers, f"offsets of {name}")
        for place in answer.topic_partitions:
            if place.error is not None:
                raise translate(place.error, f"offsets of {name}")
    except CommitFailed as error:  # the broker's answer while the group has members
        raise GroupInUse(f"group {name} has members", hint="stop its consumers first", code=error.code) from error
    return targets


def _places(link: Link, name: str, topic: str | None, partitions: Sequence[int] | None) -> list[TopicPartition]:
    if topic is None:
        if partitions is not None:
            raise SettingsError("partitions without a topic", hint="give topic='…' as well")
        _check_known(link, name)
        places = sorted(_committed(link, name))
        if not places:
            raise NotFound(f"group {name} has no offsets", hint="name a topic with topic='…'")
        return places
    known = known_topic(link, topic).partitions
    check_partitions(topic, known, partitions or ())
    return [TopicPartition(topic, index) for index in sorted(known if partitions is None else set(partitions))]


def _targets(link: Link, places: list[TopicPartition], to: Start) -> dict[TopicPartition, int]:
    starts, ends = offsets(link, places, OffsetSpec.earliest()), offsets(link, places, OffsetSpec.latest())
    if to == "earliest":
        return starts
    if to == "latest":
        return ends
    if isinstance(to, datetime.datetime):
        if to.tzinfo is None:
            raise SettingsError(f"{to} is a time without a zone", hint="write datetime(…, tzinfo=UTC)")
        found = offsets(link, places, OffsetSpec.for_timestamp(round(to.timestamp() * 1000)))
        return {place: ends[place] if found[place] < 0 else found[place] for place in places}
    offset: object = to
    if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
        raise SettingsError(f"to={to!r}", hint='give "earliest", "latest", an offset or a time')
    return {place: min(max(offset, starts[place]), ends[place]) for place in places}


def _check_known(link: Link, name: str) -> None:
    if name not in {each.name for each in listed(link)}:
        hint = "`Admin.list_groups` shows all groups"
        raise NotFound(f"group {name} does not exist", hint=hint, code="GROUP_ID_NOT_FOUND")


def _committed(link: Link, name: str) -> dict[TopicPartition, int]:
    asked = [ConsumerGroupTopicPartitions(name)]
    answers = link.library.list_consumer_group_offsets(asked, request_timeout=link.timeout_s)
    found = link.answer(answers, f"offsets of {name}").topic_partitions
    return {TopicPartition(each.topic, each.partition): each.offset for each in found if each.offset >= 0}


def _offsets(link: Link, name: str, more: set[TopicPartition]) -> tuple[GroupOffset, ...]:
    committed = _committed(link, name)
    places = sorted(set(committed) | more)
    starts, ends = offsets(link, places, OffsetSpec.earliest()), offsets(link, places, OffsetSpec.latest())
    return tuple(
        GroupOffset(
            place=place,
            committed=committed.get(place),
            end=ends[place],
            # Below the start of the log nothing is left to do.
            lag=max(0, ends[place] - max(committed[place], starts[place])) if place in committed else None,
        )
        for place in places
    )


def _member(found: Any) -> GroupMember:
    places = found.assignment.topic_partitions if found.assignment else []
    return GroupMember(
        member_id=found.member_id,
        client_id=found.client_id,
        host=found.host,
        instance_id=found.group_instance_id,
        partitions=tuple(sorted(TopicPartition(each.topic, each.partition) for each in places)),
    )
