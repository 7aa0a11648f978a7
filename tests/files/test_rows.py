"""Tables whose rows are parsed when they are asked for: what is found is what a parser of the whole finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphir.files.rows import Rows, read_rows, rows_text

ROOT = Path(__file__).resolve().parents[2]
TABLES = (
    "graphir/runtime/kernels.json",
    "converters/mxnet/schema/operators.json",
    "converters/mxnet/schema/mxnet2.json",
    "converters/onnx/exporting/signatures.json",
    "converters/tensorflow/schema/operators.json",
)


def plain(held: Any) -> Any:
    return {name: plain(entry) for name, entry in held.items()} if isinstance(held, Rows) else held


@pytest.mark.parametrize("file", TABLES)
def test_the_tables_are_read_as_json_is(file: str) -> None:
    found = read_rows(ROOT / file)
    assert plain(found) == json.loads((ROOT / file).read_text(encoding="ascii"))
    assert list(found) == list(json.loads((ROOT / file).read_text(encoding="ascii")))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    entries = {"one": [1, {"a": "b: c"}], "rows": {"_under:score": {}, "x": None}, "none": {}, "empty": {}}
    (tmp_path / "t.json").write_text(rows_text(entries, "rows", "empty"))
    found = read_rows(tmp_path / "t.json")
    assert plain(found) == entries
    assert json.loads((tmp_path / "t.json").read_text()) == entries
    assert isinstance(found["rows"], Rows)
    assert found["rows"]["x"] is None
    assert "y" not in found["rows"]
    with pytest.raises(KeyError):
        found["rows"]["y"]
