r"""What `\p{…}` means for the characters of topic names: POSIX names, categories, properties and methods of Java.

Scripts and blocks are those that these characters are in. Others have nothing to match in a name, but which names of
scripts there are is not known here, so they are refused rather than taken for a misspelt one that matches nothing.
"""

from __future__ import annotations

import string
import unicodedata

from penstock_spark.reading.patterns.characters import Accepts
from penstock_spark.reading.patterns.errors import NotAPattern, NotPossible

_CATEGORIES = (
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs",
    "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf", "L", "M", "N", "Z", "C", "P", "S",
)  # fmt: skip
_LETTERS, _DIGITS = string.ascii_letters, string.digits
_OTHERS = "._-"
_OF_POSIX: dict[str, str] = {
    "ASCII": _LETTERS + _DIGITS + _OTHERS, "Alnum": _LETTERS + _DIGITS, "Alpha": _LETTERS, "Blank": "", "Cntrl": "",
    "Digit": _DIGITS, "Graph": _LETTERS + _DIGITS + _OTHERS, "Lower": string.ascii_lowercase,
    "Print": _LETTERS + _DIGITS + _OTHERS, "Punct": _OTHERS, "Space": "", "Upper": string.ascii_uppercase,
    "XDigit": string.hexdigits,
}  # fmt: skip
_OF_CATEGORIES = {"LC": _LETTERS, "LD": _LETTERS + _DIGITS, "L1": _LETTERS + _DIGITS + _OTHERS}
_OF_JAVA: dict[str, str] = {
    "LowerCase": string.ascii_lowercase, "UpperCase": string.ascii_uppercase, "Alphabetic": _LETTERS,
    "Ideographic": "", "TitleCase": "", "Digit": _DIGITS, "Defined": _LETTERS + _DIGITS + _OTHERS, "Letter": _LETTERS,
    "LetterOrDigit": _LETTERS + _DIGITS, "JavaIdentifierStart": _LETTERS + "_",
    "JavaIdentifierPart": _LETTERS + _DIGITS + "_", "UnicodeIdentifierStart": _LETTERS,
    "UnicodeIdentifierPart": _LETTERS + _DIGITS + "_", "IdentifierIgnorable": "", "SpaceChar": "", "Whitespace": "",
    "ISOControl": "", "Mirrored": "",
}  # fmt: skip
_OF_UNICODE: dict[str, str] = {
    "ALPHABETIC": _LETTERS, "LETTER": _LETTERS, "IDEOGRAPHIC": "", "LOWERCASE": string.ascii_lowercase,
    "UPPERCASE": string.ascii_uppercase, "TITLECASE": "", "WHITE_SPACE": "", "WHITESPACE": "", "CONTROL": "",
    "PUNCTUATION": _OTHERS, "HEX_DIGIT": string.hexdigits, "HEXDIGIT": string.hexdigits,
    "ASSIGNED": _LETTERS + _DIGITS + _OTHERS, "NONCHARACTERCODEPOINT": "", "NONCHARACTER_CODE_POINT": "",
    "DIGIT": _DIGITS, "ALNUM": _LETTERS + _DIGITS, "BLANK": "", "GRAPH": _LETTERS + _DIGITS + _OTHERS,
    "PRINT": _LETTERS + _DIGITS + _OTHERS, "WORD": _LETTERS + _DIGITS + "_", "JOIN_CONTROL": "", "JOINCONTROL": "",
}  # fmt: skip
_SCRIPTS = {"LATIN": _LETTERS, "LATN": _LETTERS, "COMMON": _DIGITS + _OTHERS, "ZYYY": _DIGITS + _OTHERS}
_BLOCKS = {"BASICLATIN": _LETTERS + _DIGITS + _OTHERS, "BASIC_LATIN": _LETTERS + _DIGITS + _OTHERS,
           "BASIC LATIN": _LETTERS + _DIGITS + _OTHERS}  # fmt: skip
_OF_A_CASE = {"Lu", "Ll", "Lt", "Lower", "Upper", "javaLowerCase", "javaUpperCase", "javaTitleCase"}


def family(name: str, *, any_case: bool) -> Accepts:
    r"""The characters of `\p{name}`. With `any_case` (the flag i) those of one case are those of both."""
    if "=" in name:
        return _of(_of_value(*name.split("=", 1)))
    if name.startswith("In"):
        return _of(_block(name[2:]))
    if name.startswith("Is"):
        return _of(_is(name[2:], any_case=any_case))
    if any_case and name in _OF_A_CASE:
        return _of(_LETTERS)
    found = _category(name)
    if found is None:
        found = _OF_POSIX.get(name, _OF_JAVA.get(name[4:]) if name.startswith("java") else None)
    if found is None:
        raise NotAPattern(f"there is no character property {name}")
    return _of(found)


def _of(chars: str) -> Accepts:
    return frozenset(chars).__contains__


def _category(name: str) -> str | None:
    if name in _OF_CATEGORIES:
        return _OF_CATEGORIES[name]
    if name == "all":
        return _LETTERS + _DIGITS + _OTHERS
    if name not in _CATEGORIES:
        return None
    return "".join(char for char in _OF_POSIX["ASCII"] if unicodedata.category(char).startswith(name))


def _is(name: str, *, any_case: bool) -> str:
    if any_case and name.upper() in ("LOWERCASE", "UPPERCASE", "TITLECASE"):
        return _LETTERS
    if name.upper() in _OF_UNICODE:
        return _OF_UNICODE[name.upper()]
    if any_case and name in _OF_A_CASE:
        return _LETTERS
    found = _category(name)
    if found is None:
        found = _OF_POSIX.get(name)
    return _script(name) if found is None else found


def _of_value(what: str, name: str) -> str:
    match what.lower():
        case "sc" | "script":
            return _script(name)
        case "blk" | "block":
            return _block(name)
        case "gc" | "general_category":
            found = _category(name)
            if found is not None:
                return found
            raise NotAPattern(f"there is no category {name}")
    raise NotAPattern(f"there is no character property {what}")


def _script(name: str) -> str:
    if name.upper() in _SCRIPTS:
        return _SCRIPTS[name.upper()]
    raise NotPossible(f"the script {name}: names of topics have letters of Latin only")


def _block(name: str) -> str:
    if name.upper() in _BLOCKS:
        return _BLOCKS[name.upper()]
    raise NotPossible(f"the block {name}: names of topics are in BasicLatin")
