"""The tree itself: defaults, bounds, and values that may be written in more than one way."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from penstock.config.explanations import explanations
from penstock.config.settings import MAPPINGS, Settings, keys, node_number, split_address


def test_the_defaults_are_those_of_a_broker_on_this_machine() -> None:
    settings = Settings()
    assert (settings.kafka.host, settings.kafka.port, settings.http.port) == ("127.0.0.1", 9092, 8080)
    assert (settings.node.id, settings.node.data_dir) == (1, Path("data"))
    assert (settings.storage.flush, settings.storage.verify_on_read) == ("always", "first")


def test_every_setting_is_explained() -> None:
    assert list(explanations()) == list(keys())
    assert all(explanations().values())
    assert explanations()["kafka.port"] == "Port of the Kafka door; 0 takes a free one."
    assert set(keys()) > MAPPINGS


@pytest.mark.parametrize("test", ["data", "data/topics", ".", "to-data", "to-data/topics", "data/../data"])
def test_files_for_tests_are_not_those_of_the_node(tmp_path: Path, test: str) -> None:
    (tmp_path / "data" / "topics").mkdir(parents=True)
    (tmp_path / "to-data").symlink_to(tmp_path / "data")
    given = {"node": {"data_dir": tmp_path / "data"}, "http": {"test_data_dir": tmp_path / test}}
    with pytest.raises(ValidationError, match=r"node\.data_dir must not be in one another.*a directory of their own"):
        Settings.model_validate(given)
    Settings.model_validate(given | {"http": {"test_data_dir": tmp_path / "data-for-tests"}})
    Settings.model_validate(given | {"storage": {"engine": "memory"}})


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().kafka.port = 1


@pytest.mark.parametrize(
    ("given", "node_id", "name"),
    [
        ("local-001", 1, "local-001"),
        ("broker-17", 17, "broker-17"),
        ("7", 7, None),
        (3, 3, None),
        ("edge", node_number("edge"), "edge"),
    ],
)
@pytest.mark.feature("P-25")
def test_a_node_may_have_a_name_for_an_id(given: object, node_id: int, name: str | None) -> None:
    node = Settings.model_validate({"node": {"id": given}}).node
    assert (node.id, node.name) == (node_id, name)
    assert 0 <= node.id < 1 << 31


@pytest.mark.parametrize(("text", "number"), [("16 MiB", 1 << 24), ("1GiB", 1 << 30), ("5kb", 5000), (77, 77)])
def test_sizes_may_have_units(text: object, number: int) -> None:
    assert Settings.model_validate(
        {"storage": {"min_free_bytes": text, "reserve_bytes": 0}}
    ).storage.min_free_bytes == (number)


def test_mmap_means_disk() -> None:
    assert Settings.model_validate({"storage": {"engine": "mmap"}}).storage.engine == "disk"


def test_topic_defaults_are_texts_as_in_kafka() -> None:
    topics = Settings.model_validate({"topics": {"defaults": {"retention.ms": 1000, "preallocate": False}}}).topics
    assert topics.defaults == {"retention.ms": "1000", "preallocate": "false"}


@pytest.mark.parametrize(
    ("text", "address"), [("a.example:9092", ("a.example", 9092)), ("[::1]:19092", ("::1", 19092))]
)
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert split_address(text) == address
    assert Settings.model_validate({"kafka": {"advertised": text}}).kafka.advertised_address == address


@pytest.mark.parametrize(("text", "host"), [("a.example", "a.example"), ("10.0.0.7", "10.0.0.7"), ("[::1]", "::1")])
def test_an_advertised_host_keeps_the_port(text: str, host: str) -> None:
    assert Settings.model_validate({"kafka": {"advertised": text}}).kafka.advertised_address == (host, 0)


@pytest.mark.parametrize("text", ["a.example:", ":9092", "a:0", "::1", "::1:9092", "a:b", "[::1", "[]"])
def test_a_bad_advertised_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"host:port|brackets"):
        Settings.model_validate({"kafka": {"advertised": text}})


@pytest.mark.parametrize("text", ["a.example", "a.example:", ":9092", "a:0", "a:70000", "::1:9092", "a:b"])
def test_a_bad_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"host:port|brackets"):
        split_address(text)


@pytest.mark.parametrize(
    "tree",
    [
        {"kafka": {"port": 65536}},
        {"storage": {"flush": "sometimes"}},
        {"storage": {"reserve_bytes": "1 GiB", "min_free_bytes": "1 MiB"}},
        {"groups": {"session_timeout_min_ms": 10, "session_timeout_max_ms": 9}},
        {"limits": {"frame_bytes_max": 1}},
        {"node": {"id": -1}},
        {"kafka": {"prot": 1}},
    ],
)
def test_impossible_values_are_refused(tree: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(tree)
