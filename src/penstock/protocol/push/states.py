"""The states of a connection as a table: the frames that each side may send, and the states that follow.

Any other frame is a violation. Both ends can use the table, since it is about frames on the wire.
docs/formats/push-protocol.md shows it.
"""

from __future__ import annotations

import enum

from penstock.protocol.push.frames import FrameType, MalformedFrame


class State(enum.Enum):
    UNAUTHENTICATED = "Unauthenticated"
    OPEN = "Open"
    SUBSCRIBED = "Subscribed"
    CLOSING = "Closing"


FIRST_STATES = (State.UNAUTHENTICATED, State.OPEN)
"""Where a connection begins: with a login if its listener has SASL."""


class Side(enum.Enum):
    CLIENT = "client"
    BROKER = "broker"


class Fatal(enum.Enum):
    """An ERROR with id 0: it answers nothing, and the connection ends with it."""

    ERROR = "ERROR 0"


class LastStep(enum.Enum):
    """The ACK that ends a login."""

    ACK = "ACK of the last AUTHENTICATE"


Event = tuple[Side, FrameType | Fatal | LastStep]

_REQUESTS = (
    FrameType.AUTHENTICATE,
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
_CLIENT_UNAUTHENTICATED = (FrameType.AUTHENTICATE, FrameType.HEARTBEAT)


def _table() -> dict[tuple[State, Event], State]:
    table: dict[tuple[State, Event], State] = {}
    for state in (State.UNAUTHENTICATED, State.OPEN, State.SUBSCRIBED):
        of_client = _CLIENT_UNAUTHENTICATED if state is State.UNAUTHENTICATED else _CLIENT_ALWAYS
        for frame_type in of_client:
            table[state, (Side.CLIENT, frame_type)] = state
        for frame_type in _BROKER_ALWAYS:
            table[state, (Side.BROKER, frame_type)] = state
        for side in Side:
            table[state, (side, FrameType.DISCONNECT)] = State.CLOSING
            table[state, (side, Fatal.ERROR)] = State.CLOSING
    table[State.UNAUTHENTICATED, (Side.BROKER, LastStep.ACK)] = State.OPEN
    for state in (State.OPEN, State.SUBSCRIBED):
        table[state, (Side.CLIENT, FrameType.SUBSCRIBE)] = State.SUBSCRIBED
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
    if following is None and state is State.UNAUTHENTICATED:
        raise MalformedFrame(
            f"{frame_type.name} before the client has logged in; this listener wants AUTHENTICATE first"
        )
    if following is None:
        raise MalformedFrame(f"{frame_type.name} from the {side.value} does not belong there (state {state.value})")
    return following


def logged_in(state: State) -> State:
    """The state after the ACK that ends a login; a client that logs in again stays where it is."""
    return TABLE.get((state, (Side.BROKER, LastStep.ACK)), state)
