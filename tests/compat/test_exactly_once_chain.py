"""Exactly once, seen from outside: a chain of topics whose members, of three client libraries, are killed all the time.

Raw to middle to out, two members of different libraries at each of the two stages. What a member reads, what it makes
of it and its offsets are one transaction. Members are killed with kill -9, mostly with a transaction open; besides, all
abort some of their own accord. In the end every input is in the output once, and in the order of its key.

    PENSTOCK_TEST_TARGET=kafka    the control; its broker is not killed: see the chaos tests for why
    PENSTOCK_TEST_SEED=7          the same members are killed at the same steps as in another run with that seed
"""

import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.compat.chain import KEYS, Chain, Found, Pair, number_of
from tests.compat.chain_posts import OPEN, SESSION_TIMEOUT_MS, Post, compile_member
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import make_broker, running

pytestmark = [pytest.mark.feature("K-07", "X-02", "F-02"), pytest.mark.timeout(300)]

STEPS = (*OPEN, "committed")
KINDS = {"java", "confluent-kafka", "kafka-python"}

MakeChain = Callable[[Pair, Pair], Chain]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_member(tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker with short sessions: after a kill, a group waits for the end of the member's session."""
    if "PENSTOCK_TEST_BOOTSTRAP" in os.environ:
        pytest.skip("needs a broker with short sessions")
    directory = tmp_path_factory.mktemp("chain-broker")
    yield from running(make_broker(directory, session_timeout_min_ms=SESSION_TIMEOUT_MS))


@pytest.fixture
def make_chain(own_broker: BrokerProcess, classes: Path) -> Iterator[MakeChain]:
    made: list[Chain] = []

    def make(first: Pair, second: Pair) -> Chain:
        made.append(Chain(own_broker, (first, second), classes))
        return made[-1]

    yield make
    for chain in made:
        chain.close()


@pytest.fixture
def chance() -> random.Random:
    seed = int(os.environ.get("PENSTOCK_TEST_SEED") or random.SystemRandom().randrange(10_000))
    print(f"PENSTOCK_TEST_SEED={seed}")
    return random.Random(seed)


def plan(chance: random.Random, posts: list[Post], times: int) -> list[tuple[Post, str]]:
    """Who is killed at which step: every post as often as the others, and none twice at the same step."""
    steps = [chance.sample(STEPS, times) for _ in posts]
    return [
        (posts[place], steps[place][turn])
        for turn in range(times)
        for place in chance.sample(range(len(posts)), len(posts))
    ]


def kill_and_replace(chain: Chain, post: Post, step: str, chance: random.Random) -> None:
    """At once, or when the other member has its partitions and waits for what it left open (KIP-447)."""
    chain.kill(post, step)
    if chance.random() < 0.4:
        chain.wait_until_taken_over(post)
    post.start()


def check_exactly_once(found: Found, fed: int, stages: int) -> None:
    """Every number once, at the place of its key, in order, and through every stage."""
    times = Counter(number_of(value) for _, value in found)
    assert [number for number in range(fed) if number not in times] == [], "missing"
    assert [number for number, count in times.items() if count > 1] == [], "more than once"
    assert len(found) == fed
    assert {value.count("|") for _, value in found} == {stages}
    of_key: dict[str, list[int]] = defaultdict(list)
    for key, value in found:
        of_key[key].append(number_of(value))
    assert of_key == {str(key): list(range(key, fed, KEYS)) for key in range(KEYS)}


def check_results(chain: Chain) -> None:
    """Exactly once with read_committed, though more was written, and kills came in the middle of it."""
    fed = chain.finish()
    print(f"{fed} inputs\n{chain}")
    for stages, topic in enumerate((chain.middle, chain.out), 1):
        check_exactly_once(chain.read(topic, "read_committed"), fed, stages)
        written = chain.read(topic, "read_uncommitted")
        assert len(written) > fed, "nothing was aborted, so nothing is shown"
        with pytest.raises(AssertionError, match="more than once"):
            check_exactly_once(written, fed, stages)


def check_kills(chain: Chain, kills: int) -> None:
    """Enough of them, and each library with a transaction open."""
    hits = [(post.kind, step) for post in chain.posts for step in post.hits]
    assert len(hits) >= kills
    assert {kind for kind, step in hits if step in OPEN} == {post.kind for post in chain.posts} == KINDS
    assert sum(step in OPEN for _, step in hits) >= kills // 2


def test_members_are_killed(make_chain: MakeChain, chance: random.Random) -> None:
    chain = make_chain(("java", "confluent-kafka"), ("kafka-python", "java"))
    for post, step in plan(chance, chain.posts, 3):
        kill_and_replace(chain, post, step, chance)
    check_results(chain)
    check_kills(chain, 10)
    assert [post.exits for post in chain.posts] == [[]] * len(chain.posts), "nobody gave them a reason to end"


def test_members_and_the_broker_are_killed(
    own_broker: BrokerProcess, make_chain: MakeChain, chance: random.Random
) -> None:
    if own_broker.kind == "kafka" or not own_broker.is_durable:
        pytest.skip("needs a broker that keeps what it has decided when it is killed")
    chain = make_chain(("kafka-python", "confluent-kafka"), ("confluent-kafka", "java"))
    for number, (post, step) in enumerate(plan(chance, chain.posts, 2)):
        kill_and_replace(chain, post, step, chance)
        if number % 2:
            chain.kill_broker(chance.choice(chain.posts), chance.choice(OPEN))
    check_results(chain)
    check_kills(chain, 6)
