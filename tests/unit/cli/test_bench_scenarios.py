"""Contents of scenario files, and the errors for wrong ones."""

import random

import pytest

from penstock.cli.bench.file import load_scenario, parse_scenario, shipped
from penstock.cli.bench.shapes import KeyShape, RateShape, SizeShape, filling
from penstock.cli.terminal.errors import CommandError


def rate(**shape: object) -> RateShape:
    return RateShape.model_validate(shape)


def test_a_burst_adds_to_the_steady_rate() -> None:
    once = rate(burst={"steady": 100, "times": 10, "after": "10s", "for": "5s"})
    assert [once.due(second, 60) for second in (0, 10, 12, 15, 20)] == [0, 1000, 3000, 6000, 6500]


def test_a_burst_may_come_again() -> None:
    again = rate(burst={"steady": 100, "times": 2, "after": 0, "for": 1, "every": 10})
    assert [again.due(second, 60) for second in (1, 10, 11, 20)] == [200, 1100, 1300, 2200]


def test_a_ramp_is_the_area_below_its_line() -> None:
    ramp = rate(ramp={"from": 0, "to": 100})
    assert [ramp.due(second, 10) for second in (0, 5, 10)] == [0, 125, 500]


def test_sizes_keep_to_their_bounds() -> None:
    chance = random.Random(1)
    uniform = SizeShape.model_validate({"uniform": [10, "1 KiB"]})
    assert {10 <= uniform.sample(chance) <= 1024 for _ in range(1000)} == {True}
    choice = SizeShape.model_validate({"choice": {20: 1, 30: 3}})
    drawn = [choice.sample(chance) for _ in range(4000)]
    assert set(drawn) == {20, 30}
    assert 2.5 < drawn.count(30) / drawn.count(20) < 3.5
    normal = SizeShape.model_validate({"normal": {"mean": 100, "deviation": 200}})
    assert min(normal.sample(chance) for _ in range(1000)) == 8  # room for the time stamp


def test_skewed_keys_prefer_the_first() -> None:
    drawn = KeyShape(count=1000, skew=1.2).sample(random.Random(1), 5000)
    assert drawn.count(b"key-0") > drawn.count(b"key-10") > 0
    assert KeyShape().sample(random.Random(1), 3) == [None] * 3


def test_text_is_compressible_and_noise_is_not() -> None:
    import zlib

    assert len(zlib.compress(filling("text", 10_000, random.Random(1)))) < 6_000
    assert len(zlib.compress(filling("random", 10_000, random.Random(1)))) > 9_900


@pytest.mark.feature("P-24")
def test_every_shipped_scenario_is_valid_and_explained() -> None:
    assert len(shipped()) >= 5
    for name in shipped():
        assert load_scenario(name).about


def test_clients_are_spread_over_processes() -> None:
    text = "producers: [{name: a, topic: t, connections: 10, processes: 3}]"
    group = parse_scenario(text, "x.yaml").producers[0]
    assert [group.clients_of(worker) for worker in range(group.worker_count)] == [4, 3, 3]


HEAD = "producers:\n  - name: a\n    topic: t\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("producers:\n  - name: a\n", "x.yaml:2: producers[0].topic: is missing"),
        (HEAD + "    rate: -1\n", "x.yaml:4: producers[0].rate.steady: -1: should be greater than 0"),
        (
            HEAD + "    rate: {burst: {steady: 1, time: 5, for: 1s}}\n",
            "rate.burst.time: unknown key; did you mean times?",
        ),
        (HEAD + "    rate: {steady: 1, ramp: {from: 1, to: 2}}\n", "x.yaml:4: producers[0].rate: give exactly one of"),
        (HEAD + "    size: 1\n", "x.yaml:4: producers[0].size.fixed: 1: should be greater than or equal to 8"),
        (HEAD + "    size: {uniform: [50, 20]}\n", "uniform takes [smallest, largest]"),
        (HEAD + "    acks: 2\n", "x.yaml:4: producers[0].acks: 2: should be 'all', 0 or 1"),
        (HEAD + "    compression: zip\n", "should be 'none', 'gzip', 'snappy', 'lz4' or 'zstd'"),
        (HEAD + "    start: soon\n", "x.yaml:4: producers[0].start: 'soon': expected seconds, or a time such as 30s"),
        (HEAD + "    start: 11s\n", "a starts at 11 s, when all is over: raise `duration` or lower `start`"),
        (HEAD + HEAD.removeprefix("producers:\n"), "two groups are called a"),
        (HEAD + "consumer: []\n", "x.yaml:4: consumer: unknown key; did you mean consumers?"),
        ("duration: 5\n", "there is nothing to do: give `producers`, `consumers` or both"),
        ("producers: [\n", "x.yaml:2: not YAML"),
        ("- 1\n", "a scenario is a mapping"),
        ("", "a scenario is a mapping"),
    ],
)
def test_a_wrong_scenario_says_where_and_what_to_do(text: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_scenario(text, "x.yaml")
    assert message in str(caught.value)
