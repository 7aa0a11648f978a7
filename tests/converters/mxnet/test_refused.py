"""What cannot be said is refused with its own reason, and stands in no table of what can be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import graphir
from graphir.converters.mxnet.importing.ops import import_table
from graphir.converters.mxnet.importing.ops.refused import REASONS
from graphir.converters.mxnet.schema.registry import canonical_names


def test_names_are_canonical_and_not_imported() -> None:
    assert list(REASONS) == sorted(REASONS, key=str.lower)
    assert set(REASONS) <= set(canonical_names().values())
    assert not set(REASONS) & set(import_table())


def test_the_error_gives_the_reason(tmp_path: Path) -> None:
    data = {"op": "null", "name": "data", "inputs": []}
    nodes = [data, {"op": "_cvimdecode", "name": "pixels", "inputs": [[0, 0, 0]]}]
    symbol = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]}
    path = tmp_path / "decoder-symbol.json"
    path.write_text(json.dumps(symbol))
    with pytest.raises(graphir.GraphirError) as caught:
        graphir.load(path)
    assert REASONS["_cvimdecode"] in str(caught.value)
    assert "pixels" in str(caught.value)
