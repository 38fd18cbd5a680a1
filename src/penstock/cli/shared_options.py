"""Options that several commands have in common: declared once, and handed to each command as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

Command = Callable[..., None]


def shared_options(
    parameter: str,
    options: Mapping[str, Any],
    make: Callable[[dict[str, Any]], Any],
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[Command], Command]:
    """Add options to a command, after its own; it gets what `make` makes of them as its `parameter`.

    `options` are annotations by the names of parameters. Those that `defaults` leaves out are None by default.
    """

    def with_options(command: Command) -> Command:
        @functools.wraps(command)
        def run(**values: Any) -> None:
            own = {name: value for name, value in values.items() if name not in options}
            command(**own, **{parameter: make({name: values[name] for name in options})})

        own = inspect.signature(command, eval_str=True).parameters
        kept = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, each in own.items() if name != parameter]
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=(defaults or {}).get(name), annotation=annotation
            )
            for name, annotation in options.items()
        ]
        run.__signature__ = inspect.Signature([*kept, *added])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in [*kept, *added]}
        return run

    return with_options
