"""The table of operands and results is what the onnx package states."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.defs
import pytest

from graphir.converters.onnx.exporting.opsets import OLDEST_OPSET
from graphir.converters.onnx.exporting.signatures import newest_opset, onnx_release, signature

OPSETS = range(OLDEST_OPSET, min(newest_opset(), onnx.defs.onnx_opset_version()) + 1)
NAMES = sorted({schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain})


def stated(op_type: str, opset: int) -> Any:
    """What the package says, as tuples."""
    if not onnx.defs.has(op_type, opset):
        return None
    schema = onnx.defs.get_schema(op_type, opset, "")
    formals = [
        tuple((one.name, frozenset(one.types), one.type_str if one.is_homogeneous else "") for one in parameters)
        for parameters in (schema.inputs, schema.outputs)
    ]
    return (*formals, schema.since_version)


@pytest.mark.parametrize("op_type", NAMES)
def test_signatures_are_those_of_the_package(op_type: str) -> None:
    signatures = [signature(op_type, opset) for opset in OPSETS]
    found = [None if one is None else (one.inputs, one.outputs, one.since) for one in signatures]
    assert found == [stated(op_type, opset) for opset in OPSETS]


@pytest.mark.parametrize("op_type, opset", [("Conv", OLDEST_OPSET - 1), ("NoSuchOperator", 17), ("Gelu", 19)])
def test_what_is_not_there(op_type: str, opset: int) -> None:
    assert signature(op_type, opset) is None


def test_the_table_is_as_new_as_the_package() -> None:
    assert newest_opset() >= onnx.defs.onnx_opset_version(), "run tools/onnx_signatures.py with this onnx"
    assert onnx_release().count(".") == 2
