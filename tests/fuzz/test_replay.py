"""Every fuzz target over its seeds, over the inputs that once made it fail, and over a few new ones."""

import random

import pytest

from tests.fuzz.targets import REGRESSIONS, SHARES, load, regressions

pytestmark = pytest.mark.feature("F-01", "F-06")

FRESH = 60


@pytest.mark.parametrize("name", SHARES)
def test_nothing_is_wrong_with_the_seeds(name: str) -> None:
    target = load(name)
    for seed in target.seeds().values():
        target.run(seed)


@pytest.mark.parametrize(("name", "file"), [(name, path.name) for name in SHARES for path in regressions(name)])
def test_what_was_found_is_mended(name: str, file: str) -> None:
    load(name).run((REGRESSIONS / file).read_bytes())


@pytest.mark.parametrize("name", SHARES)
def test_nothing_is_wrong_with_changed_seeds(name: str) -> None:
    """The same few every time: a look at the mutators, which otherwise run in `make fuzz` only."""
    target, choose = load(name), random.Random(name)
    seeds = list(target.seeds().values())

    def change(data: bytes, max_bytes: int) -> bytes:
        at = choose.randrange(len(data) + 1)
        return (data[:at] + choose.randbytes(choose.randrange(4)) + data[at + choose.randrange(4) :])[:max_bytes]

    for _ in range(FRESH):
        target.run(target.mutate(choose.choice(seeds), 4_096, choose, change))
