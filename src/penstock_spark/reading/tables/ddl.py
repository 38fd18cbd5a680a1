"""Schemas as SQL writes them: `symbol STRING, price DECIMAL(10, 2), tags ARRAY<STRING>`.

Spark parses such text only in a session, and a data source returns its schema in a process that has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import types

from penstock_spark.errors import BadOption

_PLAIN: dict[str, Callable[[], types.DataType]] = {
    "BOOLEAN": types.BooleanType,
    "TINYINT": types.ByteType,
    "BYTE": types.ByteType,
    "SMALLINT": types.ShortType,
    "SHORT": types.ShortType,
    "INT": types.IntegerType,
    "INTEGER": types.IntegerType,
    "BIGINT": types.LongType,
    "LONG": types.LongType,
    "FLOAT": types.FloatType,
    "REAL": types.FloatType,
    "DOUBLE": types.DoubleType,
    "STRING": types.StringType,
    "BINARY": types.BinaryType,
    "DATE": types.DateType,
    "TIMESTAMP": types.TimestampType,
    "TIMESTAMP_LTZ": types.TimestampType,
    "TIMESTAMP_NTZ": types.TimestampNTZType,
}
TYPES = (*_PLAIN, "DECIMAL(p, s)", "ARRAY<T>", "MAP<STRING, T>", "STRUCT<name: T, …>")
_TOKEN = re.compile(r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<word>\w+)|(?P<sign>[<>(),:])|'(?P<text>[^']*)')")


def parse_ddl(text: str) -> types.StructType:
    parser = _Parser(text)
    fields = parser.fields("")
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise BadOption(f"valueSchema has two columns of one name: {', '.join(names)}")
    return types.StructType(fields)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, bool]] = []  # and whether it is a name in backticks
        at = 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._wrong(f"{text[at:].strip()[:20]!r} is not understood")
            is_quoted = found["quoted"] is not None
            self._tokens.append((found["quoted"].replace("``", "`") if is_quoted else found[0].strip(), is_quoted))
            at = found.end()
        self._tokens.reverse()

    def fields(self, end: str) -> list[types.StructField]:
        """Parse fields up to the token `end`, which is consumed."""
        found = []
        while True:
            found.append(self._field())
            token = self._next() if self._tokens else ""
            if token == end:
                return found
            if token != ",":
                raise self._wrong(f"{token!r} follows the column {found[-1].name}")

    def _field(self) -> types.StructField:
        name = self._next(is_name=True)
        self._skip(":")
        field = types.StructField(name, self._type())
        if self._skip("NOT"):
            raise self._wrong(f"{name} is NOT NULL, but a bad row has null in every column")
        if self._skip("COMMENT"):
            self._next()
        return field

    def _type(self) -> types.DataType:
        word = self._next().upper()
        if word in _PLAIN:
            return _PLAIN[word]()
        match word:
            case "DECIMAL" | "DEC" | "NUMERIC":
                return self._decimal()
            case "ARRAY":
                self._expect("<")
                found = types.ArrayType(self._type())
                self._expect(">")
                return found
            case "MAP":
                return self._map()
            case "STRUCT":
                self._expect("<")
                return types.StructType(self.fields(">"))
        raise self._wrong(f"there is no type {word} here; there are: {', '.join(TYPES)}")

    def _decimal(self) -> types.DecimalType:
        precision, scale = 10, 0
        if self._skip("("):
            precision = self._number()
            if self._skip(","):
                scale = self._number()
            self._expect(")")
        if not 1 <= precision <= 38 or scale > precision:
            raise self._wrong(f"DECIMAL({precision}, {scale}) has 1 to 38 digits, and no more behind the point")
        return types.DecimalType(precision, scale)

    def _map(self) -> types.MapType:
        self._expect("<")
        if not isinstance(self._type(), types.StringType):
            raise self._wrong("the keys of a map are STRING")
        self._expect(",")
        found = types.MapType(types.StringType(), self._type())
        self._expect(">")
        return found

    def _next(self, *, is_name: bool = False) -> str:
        token, is_quoted = self._tokens.pop() if self._tokens else ("", False)
        if not token or (is_name and not is_quoted and not token[0].isalnum() and token[0] != "_"):
            raise self._wrong(f"{token!r} stands where a {'name' if is_name else 'type'} should be")
        return token

    def _skip(self, token: str) -> bool:
        if self._tokens and self._tokens[-1][0].upper() == token and not self._tokens[-1][1]:
            self._tokens.pop()
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._skip(token):
            raise self._wrong(f"{token!r} is missing")

    def _number(self) -> int:
        token = self._next()
        if not token.isdecimal():
            raise self._wrong(f"{token!r} is not a number")
        return int(token)

    def _wrong(self, what: str) -> BadOption:
        return BadOption(f"valueSchema {self._text!r}: {what}")
