"""The wheel in an empty environment serves; and what the smoke test would not notice, it would not be worth."""

from pathlib import Path

import pytest

from tools.packages import make, only
from tools.smoke.__main__ import PINS, main
from tools.smoke.checks import dependencies, run, version
from tools.smoke.environment import Environment, SmokeError, clean_environ, pinned

pytestmark = pytest.mark.feature("K-21")


class Told(Environment):
    """An environment whose commands are not run: it answers what the test says."""

    def __init__(self, directory: Path, *, installed: dict[str, str] | None = None, says: str = "") -> None:
        super().__init__(directory)
        self._installed, self._says = installed or {}, says

    def installed(self) -> dict[str, str]:
        return self._installed

    def penstock(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        return self._says


def test_without_a_wheel_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "penstock-9.whl")]) == 2
    assert "`make build` makes one" in capsys.readouterr().err


def test_the_clone_and_the_callers_settings_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "src")
    monkeypatch.setenv("PENSTOCK_KAFKA__PORT", "1")
    monkeypatch.setenv("HOME", "/root")
    environ = clean_environ()
    assert "HOME" in environ
    assert not {"PYTHONPATH", "PENSTOCK_KAFKA__PORT"} & set(environ)


def test_a_dependency_that_nobody_pins_is_found(tmp_path: Path) -> None:
    pins = tmp_path / "runtime.txt"
    pins.write_text("# text\naio_http==3.1\nrich==15.0.0\n")
    assert pinned(pins) == {"aio-http": "3.1", "rich": "15.0.0"}
    exact = {"penstock": "0.1.0", "aio-http": "3.1", "rich": "15.0.0"}
    assert dependencies(Told(tmp_path, installed=exact), pins) == "2 packages, all pinned"
    with pytest.raises(SmokeError, match="does not pin left-pad 1"):
        dependencies(Told(tmp_path, installed={**exact, "left-pad": "1"}), pins)
    with pytest.raises(SmokeError, match="does not ask for rich"):
        dependencies(Told(tmp_path, installed={"aio-http": "3.1"}), pins)


def test_a_wrong_version_is_found(tmp_path: Path) -> None:
    wheel = Path("penstock-0.2.0-py3-none-any.whl")
    assert version(Told(tmp_path, says="penstock 0.2.0\n"), wheel) == "penstock 0.2.0"
    with pytest.raises(SmokeError, match=r"--version says 'penstock 0\.1\.0', not 'penstock 0\.2\.0'"):
        version(Told(tmp_path, says="penstock 0.1.0\n"), wheel)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_serves_in_an_empty_environment(tmp_path: Path) -> None:
    """As `make build` does it; fetches the dependencies, unless pip has them in its cache."""
    make(tmp_path / "dist")
    steps: list[str] = []
    (tmp_path / "empty").mkdir()
    run(only(tmp_path / "dist", "penstock-*.whl"), PINS, tmp_path / "empty", lambda what, _: steps.append(what))
    assert steps[-6:] == ["serve", "commands", "program", "extras", "HTTP", "stop"]
