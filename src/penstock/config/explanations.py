"""Explanations of settings: the texts below them in `config.settings`.

Read from the source on demand. Pydantic can do that, too, but at every start: a tenth of a second.
"""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

from penstock.config.settings import Section, Settings


def explanations() -> dict[str, str]:
    """Every setting by its dotted name, with its explanation."""
    explained: dict[str, str] = {}
    for section, field in Settings.model_fields.items():
        branch: type[Section] = type(field.default)
        texts: dict[str, str] = {}
        for kind in branch.__mro__[: branch.__mro__.index(Section)]:
            texts = _texts(kind) | texts
        explained |= {f"{section}.{name}": texts.get(name, "") for name in branch.model_fields}
    return explained


def _texts(section: type) -> dict[str, str]:
    """The string that follows an annotated assignment."""
    (tree,) = ast.parse(inspect.getsource(section)).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for before, after in pairwise(tree.body):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[before.target.id] = " ".join(str(after.value.value).split())
    return found
