"""AlterClientQuotas and DescribeClientQuotas. Every script cleans up: quotas are those of the whole broker."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import versions

Entity = list[tuple[str, str | None]]
EXACT, DEFAULT, ANY = 0, 1, 2
PRODUCE, FETCH, REQUEST = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
MUTATION, CONNECTIONS = "controller_mutation_rate", "connection_creation_rate"


def entry(entity: Entity, *ops: tuple[str, float | None]) -> dict[str, Any]:
    """Set the named quotas of an entity, or remove those that are None."""
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in ops],
    }


@versions("alter_client_quotas", alone=True)
def alter_client_quotas(peer: Peer, version: int) -> None:
    user: Entity = [("user", peer.name("user"))]
    client: Entity = [("client-id", peer.name("client"))]

    def ask(label: str, *entries: dict[str, Any], validate_only: bool = False) -> None:
        body = {"entries": list(entries), "validate_only": validate_only}
        peer.ask("alter_client_quotas", version, body, label=label)

    ask("none")
    ask("of a user", entry(user, (PRODUCE, 1e9), (FETCH, 2e9)))
    ask("of a client", entry(client, (REQUEST, 500.0)))
    ask("of both", entry([*user, *client], (MUTATION, 1000.0)))
    ask("only validated", entry(user, (PRODUCE, 5.0)), validate_only=True)
    ask("two entities", entry(user, (PRODUCE, 1e9)), entry(client, (PRODUCE, 1e9)))
    ask("remove what is not there", entry(client, (FETCH, None)))
    ask("nothing to do", entry(user))
    ask("an unknown quota", entry(user, ("no_such_rate", 1.0)))
    ask("a rate of 0", entry(user, (PRODUCE, 0.0)))
    ask("a negative rate", entry(user, (PRODUCE, -1.0)))
    ask("a fraction of a byte", entry(user, (PRODUCE, 0.5)))
    ask("half a request", entry(user, (REQUEST, 0.5)))
    ask("infinity", entry(user, (PRODUCE, float("inf"))))
    ask("no number", entry(user, (REQUEST, float("nan"))))
    ask("a quota of addresses for a user", entry(user, (CONNECTIONS, 5.0)))
    ask("an unknown kind of entity", entry([("planet", "earth")], (PRODUCE, 1.0)))
    ask("an empty kind of entity", entry([("", "earth")], (PRODUCE, 1.0)))
    ask("no entity", entry([], (PRODUCE, 1.0)))
    ask("a kind twice", entry([*user, *user], (PRODUCE, 1e9)))
    ask("an empty name", entry([("user", "")], (PRODUCE, 1e9)))
    ask("a quota twice", entry(user, (PRODUCE, 1e9), (PRODUCE, 2e9)))
    ask("an address that is none", entry([("ip", "not an address")], (CONNECTIONS, 100.0)))
    ask("an address and a user", entry([("ip", "192.0.2.1"), *user], (CONNECTIONS, 100.0)))
    ask("an address", entry([("ip", "192.0.2.1")], (CONNECTIONS, 100.0)))
    ask("a byte rate of an address", entry([("ip", "192.0.2.1")], (PRODUCE, 100.0)))
    ask("right and wrong", entry(client, (FETCH, 3e9)), entry(user, ("no_such_rate", 1.0)))
    ask("an entity twice", entry(user, (PRODUCE, 1e9)), entry(user, (FETCH, 1e9)))
    ask("all gone", entry(user, (PRODUCE, None), (FETCH, None), (REQUEST, None)),
        entry(client, (REQUEST, None), (PRODUCE, None), (FETCH, None)), entry([*user, *client], (MUTATION, None)),
        entry([("ip", "192.0.2.1")], (CONNECTIONS, None)))  # fmt: skip
    peer.until(
        lambda: peer.ask("describe_client_quotas", 1, {"components": [], "strict": False}, label="all gone"),
        lambda answer: not answer["entries"],
    )


@versions("describe_client_quotas", alone=True)
def describe_client_quotas(peer: Peer, version: int) -> None:
    user, client = peer.name("user"), peer.name("client")
    kept = [
        entry([("user", user)], (PRODUCE, 1e9), (FETCH, 2e9)),
        entry([("user", user), ("client-id", client)], (REQUEST, 500.0)),
        entry([("client-id", client)], (PRODUCE, 3e9)),
        entry([("user", None)], (MUTATION, 100_000.0)),
        entry([("ip", "192.0.2.7")], (CONNECTIONS, 1_000.0)),
    ]
    assert not any(row["error_code"] for row in peer.quietly("alter_client_quotas", 1, {"entries": kept})["entries"])

    def ask(label: str, *components: tuple[str, int, str | None], strict: bool = False) -> dict[str, Any]:
        rows = [{"entity_type": kind, "match_type": match, "match": name} for kind, match, name in components]
        body = {"components": rows, "strict": strict}
        return peer.ask("describe_client_quotas", version, body, label=label)

    peer.until(lambda: ask("all"), lambda answer: len(answer["entries"] or ()) == len(kept))
    ask("all, strictly", strict=True)
    ask("a user", ("user", EXACT, user))
    ask("a user, strictly", ("user", EXACT, user), strict=True)
    ask("a user and a client", ("user", EXACT, user), ("client-id", EXACT, client))
    ask("any user", ("user", ANY, None))
    ask("any user, strictly", ("user", ANY, None), strict=True)
    ask("the default user", ("user", DEFAULT, None))
    ask("any client of a user", ("user", EXACT, user), ("client-id", ANY, None), strict=True)
    ask("an address", ("ip", EXACT, "192.0.2.7"))
    ask("an unknown user", ("user", EXACT, "nobody"))
    ask("an exact match without a name", ("user", EXACT, None))
    ask("a default with a name", ("user", DEFAULT, user))
    ask("any with a name", ("user", ANY, user))
    ask("an unknown kind", ("planet", EXACT, "earth"))
    ask("an empty kind", ("", EXACT, "earth"))
    ask("a kind twice", ("user", EXACT, user), ("user", ANY, None))
    ask("an unknown match", ("user", 9, user))
    ask("an address and a user", ("ip", ANY, None), ("user", ANY, None))
    gone = [{**row, "ops": [{**each, "remove": True} for each in row["ops"]]} for row in kept]
    peer.quietly("alter_client_quotas", 1, {"entries": gone})
    peer.until(lambda: ask("nothing is left"), lambda answer: not answer["entries"])
