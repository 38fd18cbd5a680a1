"""The schema of a sample of values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock_spark.errors import BadOption
from penstock_spark.reading.tables.inference import inferred_schema


def infer(form: str, *values: bytes, sep: str = ",") -> str:
    found: str = inferred_schema(pa.array(values, pa.binary()), form, sep).simpleString()
    return found


@pytest.mark.feature("X-04")
def test_json() -> None:
    found = infer(
        "json",
        b'{"s": "x", "i": 1, "d": 1, "b": true, "n": null, "l": [], "o": {"a": 1}, "mixed": 1}',
        b"no JSON",
        b"[1]",
        b'{"d": 1.5, "l": [null, 2], "o": {"b": [{}]}, "mixed": "x", "large": 12345678901234567890, "late": "y"}',
    )
    assert found == (
        "struct<s:string,i:bigint,d:double,b:boolean,n:string,l:array<bigint>,o:struct<a:bigint,b:array<string>>,"
        "mixed:string,large:decimal(38,0),late:string>"
    )


@pytest.mark.feature("X-04")
def test_csv() -> None:
    lines = (b'ACME,12,1.5,true,2026-11-16,"a,b",', b",-3,2,FALSE,2026-11-16 09:30:00,,", b"one,too,few")
    assert infer("csv", *lines) == (
        "struct<_c0:string,_c1:bigint,_c2:double,_c3:boolean,_c4:timestamp,_c5:string,_c6:string>"
    )
    assert infer("csv", b"1;2", sep=";") == "struct<_c0:bigint,_c1:bigint>"


@pytest.mark.parametrize("values", [(), (b"12",), (b"{}",)])
def test_nothing_to_infer_from(values: tuple[bytes, ...]) -> None:
    with pytest.raises(BadOption, match="give valueSchema"):
        infer("json", *values)
    with pytest.raises(BadOption, match="give valueSchema"):
        infer("csv")
