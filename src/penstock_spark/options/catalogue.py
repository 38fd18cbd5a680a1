"""All options by name. Parsing, the texts of refusals and warnings, and the table in the documentation follow them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from penstock_spark.errors import BadOption
from penstock_spark.options.acting import ACTING
from penstock_spark.options.option import Effect, Option, Use
from penstock_spark.options.without_meaning import KAFKA, REFUSED_OPTIONS, WITHOUT_MEANING

OPTIONS: tuple[Option, ...] = (*ACTING, *REFUSED_OPTIONS, *WITHOUT_MEANING)
SPARKS_OWN = frozenset({"checkpointlocation", "queryname", "path", "outputmode"})
"""Options of Spark itself that come along."""
_BY_NAME = {option.name.lower(): option for option in OPTIONS}


def check_names(given: Iterable[str]) -> None:
    """BadOption for a name that is no option of anything, with the nearest that is one. Names come in lower case."""
    for name in given:
        if name not in _BY_NAME and name not in SPARKS_OWN:
            raise BadOption(f"there is no option {name}{_nearest(name)}")


def check_effects(given: Iterable[str], use: Use) -> None:
    """BadOption for an option that is refused in queries of this kind."""
    for name in given:
        option = _BY_NAME.get(name)
        if option is not None and option.effect(use) is Effect.REFUSED:
            raise BadOption(f"{option.name} cannot be used for a {use.value}: {plain(option.reason)}")


def without_effect(given: Iterable[str], use: Use) -> Mapping[str, list[str]]:
    """The options that are ignored in queries of this kind: names, in the usual spelling, by the reason."""
    found: dict[str, list[str]] = {}
    for name in sorted(given):
        option = _BY_NAME.get(name)
        if option is not None and option.effect(use) is Effect.IGNORED:
            found.setdefault(plain(option.reason), []).append(option.name)
    return found


def plain(text: str) -> str:
    """A text of the documentation without its marks."""
    return text.replace("`", "").replace("[secured brokers](#secured-brokers)", "Secured brokers in docs/spark.md")


def _nearest(name: str) -> str:
    with_prefix = f"{KAFKA}{name}"
    close = [with_prefix] if with_prefix in _BY_NAME else get_close_matches(name, _BY_NAME, n=1, cutoff=0.7)
    return f": did you mean {_BY_NAME[close[0]].name}?" if close else "; docs/spark.md lists all options"
