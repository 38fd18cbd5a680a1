"""What each setting does, in the words that stand below it in `config.settings`.

Taken from the source when somebody asks. Pydantic can do that, too, but for every start: a tenth of a second.
"""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

from penstock.config import settings
from penstock.config.settings import keys


def explanations() -> dict[str, str]:
    """Every setting by its dotted name, with its explanation."""
    tree = ast.parse(inspect.getsource(settings))
    texts = {node.name: _texts(node) for node in tree.body if isinstance(node, ast.ClassDef)}
    explained = {}
    for key in keys():
        section, _, name = key.partition(".")
        branch = type(settings.Settings.model_fields[section].default)
        explained[key] = texts[branch.__name__].get(name, "")
    return explained


def _texts(section: ast.ClassDef) -> dict[str, str]:
    """The string that follows an annotated assignment."""
    found = {}
    for before, after in pairwise(section.body):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[before.target.id] = " ".join(str(after.value.value).split())
    return found
