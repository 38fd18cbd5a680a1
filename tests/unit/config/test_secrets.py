"""Secrets in settings: where they may come from, and that no text that is made of settings shows them."""

import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from penstock.config import broker_configs, explanations, loading, settings_file, shown_value
from penstock.config.config_key import ConfigSource, ConfigType
from penstock.config.given_value import GivenValue
from penstock.config.loading import ConfigError, load
from penstock.config.secret_file import SecretFileError, check_secret_file
from penstock.config.settings import Secret, Section, Settings, tree
from penstock.config.static_config import StaticConfig

WORD = "s3cret-word"


class VaultSettings(Section):
    password: Secret | None = None
    """The password."""
    name: str | None = None
    """A text beside it."""
    words: tuple[str, ...] = ()
    """Some words."""


class SettingsWithVault(Settings):
    vault: VaultSettings = VaultSettings()


@pytest.fixture(autouse=True)
def vault(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The settings of a node, and among them a secret."""
    for module in (tree, loading, settings_file, shown_value, explanations):
        monkeypatch.setattr(module, "Settings", SettingsWithVault)
    shown_value.secret_keys.cache_clear()
    shown_value._own_keys.cache_clear()
    yield
    shown_value.secret_keys.cache_clear()
    shown_value._own_keys.cache_clear()


def vault_of(settings: Settings) -> VaultSettings:
    assert isinstance(settings, SettingsWithVault)
    return settings.vault


def revealed(settings: Settings) -> str:
    password = vault_of(settings).password
    assert password is not None
    return password.reveal()


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_secret_is_shown_nowhere() -> None:
    secret = Secret(WORD)
    settings = VaultSettings(password=secret)
    document = json.dumps(settings.model_dump(mode="json")) + settings.model_dump_json() + str(settings.model_dump())
    for text in (repr(secret), str(secret), f"{secret}", "%s" % secret, repr(settings), str(settings), document):  # noqa: UP031
        assert WORD not in text
        assert "***" in text
    assert secret.reveal() == WORD
    assert (secret == Secret(WORD), secret == Secret("other"), secret == WORD) == (True, False, False)
    assert copy.deepcopy(settings).password == secret
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(secret)


def test_from_text_a_file_and_the_environment(tmp_path: Path) -> None:
    in_file = written(tmp_path / "word", WORD + "\n", 0o400)
    environ = {"WORD": WORD}
    for text in (WORD, f"file:{in_file}", "env:WORD"):
        loaded = load(written(tmp_path / "p.yml", f"vault: {{password: '{text}'}}\n"), environ)
        assert revealed(loaded.settings) == WORD
        assert loaded.warnings == ()
        assert revealed(load(None, environ | {"PENSTOCK_VAULT__PASSWORD": text}).settings) == WORD


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("file:/nowhere/word", "/nowhere/word cannot be read (No such file or directory)"),
        ("file:{wide}", "is open to other users of this machine (its mode is 0640); run: chmod 600 {wide}"),
        ("file:{directory}", "{directory}"),
        ("file:{empty}", "should not be empty"),
        ("file:{large}", "more than 65536 bytes"),
        ("file:{bytes}", "not text in UTF-8"),
        ("env:NOTHING", "the environment variable NOTHING, which is not set"),
    ],
)
def test_a_source_that_cannot_be_used_is_named_with_the_remedy(tmp_path: Path, given: str, reason: str) -> None:
    names = {
        "wide": written(tmp_path / "wide", WORD, 0o640),
        "directory": tmp_path,
        "empty": written(tmp_path / "empty", "\n"),
        "large": written(tmp_path / "large", WORD * 10_000),
        "bytes": tmp_path / "bytes",
    }
    names["bytes"].write_bytes(b"\xff\xfe")
    names["bytes"].chmod(0o600)
    with pytest.raises(ConfigError) as refused:
        load(None, {"PENSTOCK_VAULT__PASSWORD": given.format(**names)})
    assert reason.format(**names) in str(refused.value)
    assert "vault.password" in str(refused.value)
    assert WORD not in str(refused.value)


def test_a_file_that_a_library_reads_is_checked_alike(tmp_path: Path) -> None:
    check_secret_file(written(tmp_path / "key", WORD))
    with pytest.raises(SecretFileError, match="chmod 600"):
        check_secret_file(written(tmp_path / "wide", WORD, 0o604))
    with pytest.raises(SecretFileError, match="not a file"):
        check_secret_file(tmp_path)


@pytest.mark.parametrize("text", ["98765", "1.5e+3", "{a: s3cret-word}", "[s3cret-word]"])
def test_yaml_that_is_no_text_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="write it in quotes") as refused:
        load(written(tmp_path / "p.yml", f"vault: {{password: {text}}}\n"), {})
    assert text.strip("{}[]a: ") not in str(refused.value)


def test_values_that_disagree_or_contradict_are_not_shown(tmp_path: Path) -> None:
    path = written(tmp_path / "p.yml", f"vault: {{password: {WORD}-1}}\n")
    loaded = load(path, {"PENSTOCK_VAULT__PASSWORD": f"{WORD}-2"})
    assert len(loaded.warnings) == 1
    assert "vault.password is *** by" in loaded.warnings[0]
    flags = [GivenValue("vault.password", f"{WORD}-{number}", "command line") for number in (1, 2)]
    with pytest.raises(ConfigError, match=r"is \*\*\* by") as refused:
        load(None, {}, flags)
    assert WORD not in str(loaded.warnings) + str(refused.value)


def test_a_secret_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    wide = written(tmp_path / "wide.yml", f"vault: {{password: {WORD}}}\n", 0o644)
    (warning,) = load(wide, {}).warnings
    assert f"chmod 600 {wide}" in warning
    flag = GivenValue("vault.password", WORD, "command line, --set")
    (warning,) = load(None, {}, [flag]).warnings
    assert "which every user of this machine can read; use file:PATH or env:NAME" in warning
    assert load(None, {"W": WORD}, [GivenValue("vault.password", "env:W", "command line, --set")]).warnings == ()


@pytest.mark.parametrize(
    "value", [f"'{WORD}", f"*{WORD}", f"!{WORD} x", f"%{WORD}", f"{{{WORD}: {{}}: 1}}", f"a: {WORD}: b"]
)
def test_the_line_of_a_file_that_is_not_yaml_is_not_shown(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"not valid YAML: .* in line \d, column \d") as refused:
        load(written(tmp_path / "p.yml", f"vault:\n  password: {value}\n"), {})
    assert WORD not in str(refused.value)


def test_errors_of_the_tree_itself_do_not_repeat_values() -> None:
    with pytest.raises(ValidationError) as refused:
        SettingsWithVault.model_validate(
            {"vault": {"password": {"a": WORD}, "name": [WORD]}, "registry": {"url": WORD}}
        )
    assert WORD not in str(refused.value)


@pytest.mark.parametrize(
    ("key", "url"),
    [
        ("registry.url", f"http://user:{WORD}@registry:8080"),
        ("registry.advertised_url", f"http://user:{WORD}@node:8080"),
        ("pipe.parent_url", f"http://user:{WORD}@root:8080"),
        ("pipe.parent_url", f"https://{WORD}@root"),
        ("kafka.advertised", f"user:{WORD}@root:9092"),
    ],
)
def test_urls_have_no_credentials_and_are_not_repeated(key: str, url: str) -> None:
    with pytest.raises(ConfigError, match="credentials are settings of their own") as refused:
        load(None, {}, [GivenValue(key, url, "command line, --set")])
    assert key in str(refused.value)
    assert WORD not in str(refused.value)
    with pytest.raises(ConfigError) as refused:
        load(None, {}, [GivenValue("pipe.type", "kafka", ""), GivenValue("pipe.parent_url", f"u:{WORD}@b:9092", "")])
    assert WORD not in str(refused.value)
    loser, winner = GivenValue(key, url, "x"), GivenValue(key, "http://other:8080", "y")
    assert WORD not in str(list(loading._disagreements([loser, winner])))


@pytest.mark.parametrize("text", ["abc #def", "no", "0123", "1e3", "{a: b}", "[a]", "null", "~", " x ", "a: b", "${X}"])
def test_variables_in_a_file_are_text(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "p.yml", "vault: {password: '${WORD}', name: '${WORD}'}\n")
    settings = load(path, {"WORD": text}).settings
    assert (revealed(settings), vault_of(settings).name) == (text, text)


def test_variables_of_other_types(tmp_path: Path) -> None:
    path = written(
        tmp_path / "p.yml",
        "kafka: {port: '${PORT:9093}', backlog: '${BACKLOG}'}\n"
        "http: {enabled: '${HTTP}', test_data_dir: '${NONE:}'}\n"
        "node: {rack: '${RACK:null}'}\n"
        "storage: {reserve_bytes: '${RESERVE:1 MiB}'}\n"
        "pipe: {topics: '${TOPICS}', exclude: '${EXCLUDE:[a, b]}'}\n"
        "topics: {defaults: '${DEFAULTS}'}\n"
        "vault: {words: ['${HTTP}', plain]}\n",
    )
    environ = {"BACKLOG": "7", "HTTP": "no", "TOPICS": "x, y", "DEFAULTS": "{retention.ms: 5}"}
    settings = load(path, environ).settings
    assert (settings.kafka.port, settings.kafka.backlog) == (9093, 7)
    assert (settings.http.enabled, settings.http.test_data_dir, settings.node.rack) == (False, None, None)
    assert settings.storage.reserve_bytes == 1 << 20
    assert (settings.pipe.topics, settings.pipe.exclude) == (("x", "y"), ("a", "b"))
    assert settings.topics.defaults == {"retention.ms": "5"}
    assert vault_of(settings).words == ("no", "plain")
    with pytest.raises(ConfigError, match=r"kafka\.port is 'abc'"):
        load(path, environ | {"PORT": "abc"})


def test_assignments_keep_a_secret_as_it_is_written(tmp_path: Path) -> None:
    path = written(tmp_path / "p.properties", "vault.password = 0123 #4\nkafka.port = 9093\n")
    settings = load(path, {}).settings
    assert (revealed(settings), settings.kafka.port) == ("0123 #4", 9093)


def test_names_of_other_systems_are_hidden_by_what_they_say() -> None:
    for name in ("ssl.key.password", "sasl.jaas.config", "delegation.token.secret.key"):
        assert shown_value.shown(name, WORD) == "***"
        assert shown_value.shown(name, f"file:/{WORD}") == f"file:/{WORD}"
    assert shown_value.shown("vault.password", WORD) == "***"
    assert shown_value.shown("vault.name", WORD) == WORD
    overrides = {"a.ssl.key.password": WORD, "a.plain.sasl.jaas.config": WORD, "a.tls.key_password": WORD, "a.x": "y"}
    hidden = dict.fromkeys(overrides, "***") | {"a.x": "y"}
    assert shown_value.shown("listeners.overrides", overrides) == hidden
    assert shown_value.shown("vault.password", None) is None
    assert shown_value.shown("vault.password", {}) == {}


def test_a_password_is_described_without_a_value() -> None:
    static = StaticConfig("x.password", ConfigType.PASSWORD, lambda _: WORD, None, "A password.")
    described = broker_configs._describe_static(static, Settings())
    assert (described.value, described.sensitive, described.source) == (None, True, ConfigSource.STATIC_BROKER)
    assert WORD not in repr(described)
