"""The states of a connection as a table: the frames that each side may send, and the states that follow.

Any other frame is a violation. Both ends can use the table, since it is about frames on the wire.
docs/formats/push-protocol.md shows it.
"""

from __future__ import annotations

import enum

from penstock.protocol.push.frames import FrameType, MalformedFrame


class State(enum.Enum):
    OPEN = "Open"
    SUBSCRIBED = "Subscribed"
    CLOSING = "Closing"


class Side(enum.Enum):
    CLIENT = "client"
    BROKER = "broker"


class Fatal(enum.Enum):
    """An ERROR with id 0: it answers nothing, and the connection ends with it."""

    ERROR = "ERROR 0"


Event = tuple[Side, FrameType | Fatal]

_REQUESTS = (
    FrameType.PUBLISH,
    FrameType.CREATE_TOPIC,
    FrameType.CREATE_SUBSCRIPTION,
    FrameType.DELETE_SUBSCRIPTION,
    FrameType.UNSUBSCRIBE,
    FrameType.COMMIT_OFFSET,
    FrameType.READY,
    FrameType.RESET,
)
_ANSWERED = frozenset((*_REQUESTS, FrameType.SUBSCRIBE))
_CLIENT_ALWAYS = (*_REQUESTS, FrameType.ACK, FrameType.ERROR, FrameType.HEARTBEAT)
_BROKER_ALWAYS = (FrameType.ACK, FrameType.ERROR, FrameType.HEARTBEAT)
_BROKER_SUBSCRIBED = (FrameType.DATA, FrameType.RESET)


def _table() -> dict[tuple[State, Event], State]:
    table: dict[tuple[State, Event], State] = {}
    for state in (State.OPEN, State.SUBSCRIBED):
        for frame_type in _CLIENT_ALWAYS:
            table[state, (Side.CLIENT, frame_type)] = state
        for frame_type in _BROKER_ALWAYS:
            table[state, (Side.BROKER, frame_type)] = state
        table[state, (Side.CLIENT, FrameType.SUBSCRIBE)] = State.SUBSCRIBED
        for side in Side:
            table[state, (side, FrameType.DISCONNECT)] = State.CLOSING
            table[state, (side, Fatal.ERROR)] = State.CLOSING
    for frame_type in _BROKER_SUBSCRIBED:
        table[State.SUBSCRIBED, (Side.BROKER, frame_type)] = State.SUBSCRIBED
    return table


TABLE = _table()


def step(state: State, side: Side, frame_type: FrameType, message_id: int = 1) -> State:
    """The state after a frame. MalformedFrame if that frame does not belong there."""
    if not message_id and side is Side.CLIENT and frame_type in _ANSWERED:
        raise MalformedFrame(f"a {frame_type.name} with message id 0 cannot be answered; number requests from 1 on")
    what: FrameType | Fatal = frame_type
    if frame_type is FrameType.ERROR and not message_id:
        what = Fatal.ERROR
    following = TABLE.get((state, (side, what)))
    if following is None:
        raise MalformedFrame(f"{frame_type.name} from the {side.value} does not belong there (state {state.value})")
    return following
