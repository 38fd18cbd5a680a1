"""The source tree keeps its rules, and each rule notices a tree that breaks it.

`REMAINING` lists the places that broke a rule when it was written. The list may only shrink: a new violation fails, and
so does a listed place that has been mended.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.house.tree import (
    CONSTRUCTOR_ARGUMENTS_MAX,
    FILES_PER_FOLDER_MAX,
    METHODS_OF_A_VALUE_MAX,
    crowded_folders,
    cut_by_inheritance,
    cut_classes,
    odd_loggers,
    wide_constructors,
)

SRC = Path(__file__).parents[3] / "src"
Rule = Callable[[Path], dict[str, str]]

REMAINING: dict[Rule, set[str]] = {
    crowded_folders: set(),
    wide_constructors: set(),
    cut_classes: set(),
    cut_by_inheritance: set(),
    odd_loggers: set(),
}


@pytest.mark.parametrize("rule", REMAINING, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_the_rule(rule: Rule) -> None:
    found = rule(SRC)
    new = {place: what for place, what in found.items() if place not in REMAINING[rule]}
    assert not new, f"{rule.__name__}: {new}"
    mended = REMAINING[rule] - found.keys()
    assert not mended, f"these are mended, take them out of REMAINING: {sorted(mended)}"


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_crowded_folder_is_found(tmp_path: Path) -> None:
    for number in range(FILES_PER_FOLDER_MAX):
        write(tmp_path / "part" / "room" / f"noun_{number}.py")
    write(tmp_path / "part" / "room" / "__init__.py")
    assert crowded_folders(tmp_path) == {}
    write(tmp_path / "part" / "room" / "one_more.py")
    assert crowded_folders(tmp_path) == {"part/room": "21 files"}


def constructor(arguments: str) -> str:
    return f"class Log:\n    def __init__(self, {arguments}) -> None: ...\n"


def test_a_wide_constructor_is_found(tmp_path: Path) -> None:
    allowed = ", ".join(f"part_{number}: int" for number in range(CONSTRUCTOR_ARGUMENTS_MAX - 1))
    write(tmp_path / "log.py", constructor(f"{allowed}, *, last: int"))
    assert wide_constructors(tmp_path) == {}
    for one_more in ("*, last: int, more: int", "*rest: int, last: int", "last: int, **more: int"):
        write(tmp_path / "log.py", constructor(f"{allowed}, {one_more}"))
        assert wide_constructors(tmp_path) == {"log.py:Log": "9 arguments"}, one_more


def test_fields_of_a_dataclass_are_no_arguments(tmp_path: Path) -> None:
    fields = "".join(f"    field_{number}: int\n" for number in range(20))
    write(tmp_path / "value.py", f"@dataclass\nclass Value:\n{fields}")
    assert wide_constructors(tmp_path) == {}


def test_fields_of_a_dataclass_with_behaviour_are_arguments(tmp_path: Path) -> None:
    fields = "".join(f"    field_{number}: int\n" for number in range(CONSTRUCTOR_ARGUMENTS_MAX))
    made = (
        "    made: int = field(init=False)\n    constant: ClassVar[int] = 1\n    @property\n    def size(self): ...\n"
    )
    methods = "".join(f"    def act_{number}(self): ...\n" for number in range(METHODS_OF_A_VALUE_MAX + 1))
    write(tmp_path / "part.py", f"@dataclass(slots=True)\nclass Part:\n{fields}{made}{methods}")
    assert wide_constructors(tmp_path) == {}
    write(tmp_path / "part.py", f"@dataclass(slots=True)\nclass Part:\n{fields}    more: int = 0\n{made}{methods}")
    assert wide_constructors(tmp_path) == {"part.py:Part": "9 arguments"}


@pytest.mark.parametrize(
    "base",
    [
        "class Base:\n    def read(self): raise NotImplementedError\n",
        "class Base:\n    async def read(self):\n        raise NotImplementedError('later')\n",
        "class Base:\n    end: int\n    def read(self): return self.end\n",
        "class Base(ABC):\n    end: int\n    def read(self): self.end.advance(1)\n",
    ],
)
@pytest.mark.parametrize("between", ["", "class Middle(Base): ...\n"])
def test_a_class_that_is_cut_by_inheritance_is_found(tmp_path: Path, base: str, between: str) -> None:
    write(tmp_path / "base.py", base)
    above = "Middle" if between else "Base"
    write(tmp_path / "leaf.py", f"{between}class Leaf({above}):\n    def __init__(self):\n        self.end = 1\n")
    assert list(cut_by_inheritance(tmp_path)) == ["base.py:Base"]


@pytest.mark.parametrize(
    "base",
    [
        "class Base(ABC):\n    @abstractmethod\n    def read(self): ...\n    def all(self): return self.read()\n",
        "class Base(ABC):\n    end: int\n    def read(self): ...\n",
        "class Base:\n    end: int\n    def __init__(self): self.end = 0\n    def read(self): return self.end\n",
        "@dataclass\nclass Base:\n    end: int\n    def read(self): return self.end\n",
    ],
)
def test_a_contract_is_not_a_cut_class(tmp_path: Path, base: str) -> None:
    write(tmp_path / "base.py", f"{base}class Leaf(Base):\n    def __init__(self):\n        self.end = 1\n")
    assert cut_by_inheritance(tmp_path) == {}


@pytest.mark.parametrize("sentence", ["The fields belong to `DiskLog`.", "Its\nfields\nbelong to the leaf"])
def test_a_class_that_is_cut_is_found(tmp_path: Path, sentence: str) -> None:
    write(tmp_path / "reader.py", f'"""Reading a log.\n\n{sentence}\n"""\n')
    write(tmp_path / "writer.py", '"""The fields of a batch; they belong to it."""\n')
    assert list(cut_classes(tmp_path)) == ["reader.py"]


@pytest.mark.parametrize("name", ["log", "_log", "LOGGER", "logger: logging.Logger", "log: logging.Logger"])
def test_a_logger_under_another_name_is_found(tmp_path: Path, name: str) -> None:
    write(tmp_path / "writer.py", f"import logging\n{name} = logging.getLogger(__name__)\n")
    write(tmp_path / "wrapped.py", "import logging\nrefused = Repeats(logging.getLogger(__name__))\n")
    assert odd_loggers(tmp_path) == ({} if name.startswith("logger") else {"writer.py": name.split(":")[0]})
