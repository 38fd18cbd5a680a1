"""A marked class or function, checked and ready to be called.

A handler takes one parameter, the payload, or two: the payload and its message. Annotations say which is which; a
parameter without one is the message. A parameter `list[...]` or a `batch` makes it a batch handler.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.client.push.message import Message
from penstock.consumers.decorators import CONSUMER, ERRORS, HANDLER, POLICY, ConsumerMark, HandlerMark
from penstock.consumers.errors import ConsumerError
from penstock.consumers.payloads import Decoder, decoder_for
from penstock.consumers.policy import RetryPolicy

BATCH_DEFAULT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One consumer. `call` takes the result of `arguments` and may return an awaitable."""

    name: str
    mark: ConsumerMark
    policy: RetryPolicy
    batch: int | None
    is_async: bool
    call: Callable[..., Any]
    decoders: tuple[Decoder, ...]
    on_error: Callable[..., Any] | None
    on_error_arguments: int
    on_error_is_async: bool

    def arguments(self, messages: Sequence[Message]) -> list[Any]:
        """The arguments of one call. Raises PayloadError."""
        if self.batch is None:
            return [decode(messages[0]) for decode in self.decoders]
        return [[decode(message) for message in messages] for decode in self.decoders]


def is_consumer(value: object) -> bool:
    """Whether an object is marked itself: a subclass of a consumer is not a consumer unless it is marked, too."""
    return callable(value) and CONSUMER in getattr(value, "__dict__", {})


def define(marked: Any) -> Definition:
    """The definition of a marked class or function. Raises ConsumerError with the reason if it cannot be run."""
    name = f"{marked.__module__}.{marked.__qualname__}"
    if not isinstance(marked, type):
        return _definition(name, marked, marked, None, getattr(marked, POLICY, None))
    handler_name = _only(marked, HANDLER, "@message_handler", name)
    if handler_name is None:
        raise ConsumerError(f"consumer {name} has no handler: mark one method with @message_handler")
    error_name = _only(marked, ERRORS, "@error_handler", name)
    try:
        instance = marked()
    except TypeError as error:
        raise ConsumerError(f"consumer {name} cannot be made: {error}; it must need no arguments") from error
    policy = getattr(getattr(marked, handler_name), POLICY, None) or getattr(marked, POLICY, None)
    on_error = getattr(instance, error_name) if error_name else None
    return _definition(name, marked, getattr(instance, handler_name), on_error, policy)


def _only(marked: type, mark: str, decorator: str, name: str) -> str | None:
    found = [attribute for attribute, value in inspect.getmembers(marked) if hasattr(value, mark)]
    if len(found) > 1:
        raise ConsumerError(f"consumer {name} has {len(found)} methods with {decorator} ({', '.join(found)}): keep one")
    return found[0] if found else None


def _definition(
    name: str, marked: Any, handler: Callable[..., Any], on_error: Callable[..., Any] | None, policy: Any
) -> Definition:
    where = f"handler of {name}"
    annotations = [annotation for _, annotation in _parameters(handler, where)]
    if len(annotations) not in (1, 2):
        raise ConsumerError(f"{where} takes {len(annotations)} parameters; it is called with the payload, or with"
                            " payload and message")  # fmt: skip
    batch = getattr(handler, HANDLER, HandlerMark(batch=None)).batch
    listed = typing.get_origin(annotations[0]) is list or annotations[0] is list
    if listed or batch is not None:
        batch = batch or BATCH_DEFAULT
        annotations = [_element(annotation, where) for annotation in annotations]
    if len(annotations) == 2 and annotations[1] not in (Message, inspect.Parameter.empty):
        raise ConsumerError(f"{where}: the second parameter is the message; annotate it with Message")
    taken = 0 if on_error is None else len(_parameters(on_error, f"error handler of {name}"))
    if on_error is not None and taken not in (1, 2):
        raise ConsumerError(f"error handler of {name} takes {taken} parameters; it is called with message and error")
    return Definition(
        name=name,
        mark=getattr(marked, CONSUMER),
        policy=policy or RetryPolicy(),
        batch=batch,
        is_async=inspect.iscoroutinefunction(handler),
        call=handler,
        decoders=tuple(decoder_for(annotation, where) for annotation in annotations),
        on_error=on_error,
        on_error_arguments=taken,
        on_error_is_async=inspect.iscoroutinefunction(on_error),
    )


def _element(annotation: Any, where: str) -> Any:
    """The element type of a batch handler's list."""
    if annotation in (list, inspect.Parameter.empty):
        return Message
    if typing.get_origin(annotation) is not list:
        raise ConsumerError(f"{where} gets batches; annotate its parameters as lists, such as list[bytes]")
    return typing.get_args(annotation)[0]


def _parameters(handler: Callable[..., Any], where: str) -> list[tuple[str, Any]]:
    """The positional parameters, with their annotations resolved."""
    try:
        hints = typing.get_type_hints(handler)
    except (NameError, TypeError) as error:
        raise ConsumerError(f"{where}: an annotation cannot be resolved: {error}") from error
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        (name, hints.get(name, inspect.Parameter.empty))
        for name, parameter in inspect.signature(handler).parameters.items()
        if parameter.kind in kinds and parameter.default is inspect.Parameter.empty
    ]
