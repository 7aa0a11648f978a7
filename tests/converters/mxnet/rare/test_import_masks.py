"""Assignments by a mask, to a value on the way: MXNet runs them in place only, which no input lets it do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import GraphirError
from tests.equivalence.live import Live, LiveError
from tests.equivalence.test_onnx import run_model
from tests.requirements import needing

Array = NDArray[Any]


@dataclass(frozen=True)
class Row:
    """An assignment: the attributes, and the operands behind the data."""

    name: str
    attrs: dict[str, str]
    arrays: tuple[Array, ...]

    @property
    def op(self) -> str:
        """The operator."""
        return f"_npi_boolean_mask_assign_{'scalar' if 'value' in self.attrs else 'tensor'}"

    @property
    def feeds(self) -> dict[str, Array]:
        """The arrays by variable."""
        return {f"x{slot}": array for slot, array in enumerate(self.arrays)}

    @property
    def symbol(self) -> str:
        """x0 + 0, a value on the way, with elements assigned to."""
        nodes: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in self.feeds]
        count = len(nodes)
        nodes.append({"op": "_npi_add_scalar", "name": "on_the_way", "attrs": {"scalar": "0", "is_int": "1"},
                      "inputs": [[0, 0, 0]]})  # fmt: skip
        operands = [[count, 0, 0], *([slot, 0, 0] for slot in range(1, count))]
        nodes.append({"op": self.op, "name": "assigned", "attrs": self.attrs, "inputs": operands})
        return json.dumps({
            "nodes": nodes, "arg_nodes": list(range(count)), "heads": [[count + 1, 0, 0]],
            "attrs": {"mxnet_version": ["int", 10901], "is_np_shape": ["int", 1]},
        })  # fmt: skip


def image(*shape: int, dtype: str = "float32") -> Array:
    """Numbers from 0 on."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def bits(*rows: object, dtype: str = "bool") -> Array:
    """A mask."""
    return np.array(rows, dtype)


MASK = bits([1, 0, 1], [0, 1, 0])
SOME, ALL, COLUMNS = bits(1, 0), bits(1, 1), bits(1, 0, 1)
ROWS = (
    *(Row(f"{dtype}_{number}", {"value": number, "start_axis": "0"}, (image(2, 3, dtype=dtype), MASK))
      for dtype in ("float32", "float16", "int8", "uint8", "int64") for number in ("2.7", "300", "-1", "nan")),
    *(Row(f"{dtype}_mask", {"value": "9"}, (image(2, 3), MASK.astype(dtype))) for dtype in ("int32", "float32")),
    Row("rows", {"value": "9", "start_axis": "0"}, (image(2, 3), SOME)),
    Row("columns", {"value": "9", "start_axis": "1"}, (image(2, 3), COLUMNS)),
    Row("last_axes", {"value": "9", "start_axis": "1"}, (image(2, 2, 3), MASK)),
    Row("tensor", {"start_axis": "0"}, (image(2, 3), MASK, image(3) + 7)),
    Row("tensor_int32", {"start_axis": "0"}, (image(2, 3, dtype="int32"), MASK, image(3, dtype="int32") + 7)),
    Row("tensor_of_one", {"start_axis": "0"}, (image(2, 3), MASK, image(1) + 7)),
    Row("tensor_of_no_axes", {"start_axis": "0"}, (image(2, 3), MASK, np.array(7, np.float32))),
    Row("tensor_of_one_in_columns", {"start_axis": "1"}, (image(2, 3), COLUMNS, image(1) + 7)),
    Row("tensor_row", {"start_axis": "0"}, (image(2, 3), ALL, image(3) + 7)),
    Row("tensor_single_row", {"start_axis": "0"}, (image(2, 3), ALL, image(1, 3) + 7)),
    Row("tensor_rows", {"start_axis": "0"}, (image(2, 3), ALL, image(2, 3) + 7)),
    Row("tensor_some_rows", {"start_axis": "0"}, (image(2, 2, 3), bits([1, 0], [1, 1]), image(3, 3) + 7)),
    Row("tensor_without_rows", {"start_axis": "0"}, (image(2, 3), MASK & False, image(0))),
)  # fmt: skip
REFUSED = (
    Row("start_axis", {"value": "9", "start_axis": "2"}, (image(2, 3), SOME)),
    Row("no_number", {"value": "nine", "start_axis": "0"}, (image(2, 3), SOME)),
    Row("sizes", {"value": "9", "start_axis": "0"}, (image(2, 3), COLUMNS)),
    Row("dtypes", {"start_axis": "0"}, (image(2, 3), MASK, image(3, dtype="int32"))),
)


def expected(live: Live, row: Row) -> Array:
    """What MXNet gives."""
    with needing("MXNet"):
        return next(iter(live.run(row.symbol, row.feeds).values()))


@pytest.mark.live
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reference_and_onnx_equal_mxnet(row: Row, live: Live) -> None:
    wanted = expected(live, row)
    (reference,) = evaluate(read_symbol(row.symbol), row.feeds).values()
    graph = from_symbol(row.symbol, {}, {name: array.shape for name, array in row.feeds.items()},
                        dtypes={name: array.dtype for name, array in row.feeds.items()})  # fmt: skip
    (found,) = run_model(to_model(graph, opset=13), row.feeds)
    assert reference.dtype == found.dtype == wanted.dtype
    assert np.array_equal(reference, wanted, equal_nan=wanted.dtype.kind == "f")
    assert np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f")
    assert "unknown attribute" not in {made.kind for made in graph.decisions}


@pytest.mark.live
@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.name)
def test_all_refuse(row: Row, live: Live) -> None:
    with needing("MXNet"), pytest.raises(LiveError):
        live.run(row.symbol, row.feeds)
    with pytest.raises(GraphirError, match="assigned"):
        evaluate(read_symbol(row.symbol), row.feeds)
    with pytest.raises(GraphirError, match="assigned"):
        from_symbol(row.symbol, {}, {name: array.shape for name, array in row.feeds.items()},
                    dtypes={name: array.dtype for name, array in row.feeds.items()})  # fmt: skip
