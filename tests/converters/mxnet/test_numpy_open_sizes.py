"""NumPy-style operators whose data has an open size: the model holds for every size, and gives what a known one gives.

Cases of tests/equivalence whose first axis can be of another size; the importer sees N there, and the model runs with
the case's size and with a larger one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphir.converters.mxnet import from_symbol
from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from tests.equivalence import numpy_creation, numpy_joining, numpy_shape
from tests.equivalence.case import Case
from tests.equivalence.rare import assignment, numpy_padding
from tests.equivalence.test_onnx import distance, run_model

# What fixes the first axis, or needs its size: codes and shapes in numbers, all axes as one, parts and diagonals of it.
FIXED = (
    *(f"_npx_reshape-{name}" for name in ("sizes", "open_first", "split-", "split_and_open", "order", "bool", "int8")),
    *(f"_npx_reshape-{name}" for name in ("dropped", "all_dropped", "no_axes", "reversed_drop")),
    "_npi_broadcast_to", "_np_squeeze", "_np_reshape", "_np_diag", "_npi_diag_indices", "_npi_hsplit-vector",
    "_slice_assign", "_contrib_index_copy", "_ravel", "_np_roll-flat_back",
)  # fmt: skip
OPEN = ("_slice_assign-columns", "_slice_assign_scalar-columns")
FAMILIES = (assignment, numpy_creation, numpy_joining, numpy_padding, numpy_shape)


def _rows() -> list[Case]:
    found = []
    for row in (case for family in FAMILIES for case in family.CASES):
        shapes = [source.shape for source in row.inputs]
        if not shapes or any(not shape or 0 in shape for shape in shapes):
            continue
        fixed = f"{row.name}-".startswith(FIXED) and row.name not in OPEN
        if not fixed and len({shape[0] for shape in shapes}) == 1:
            found.append(row)
    return found


@pytest.mark.one_of(8)
@pytest.mark.parametrize("more", [0, 3])
@pytest.mark.parametrize("row", _rows(), ids=lambda row: row.name)
def test_an_open_first_axis_changes_nothing(row: Case, more: int) -> None:
    inputs = [replace(each, shape=(each.shape[0] + more, *each.shape[1:]), values=None) for each in row.inputs]
    larger = replace(row, inputs=tuple(inputs))
    arrays = larger.arrays()
    expected = list(evaluate(read_symbol(larger.symbol_json()), arrays).values())
    shapes = {name: ("N", *array.shape[1:]) for name, array in arrays.items()}
    dtypes = {name: array.dtype for name, array in arrays.items()}
    graph = from_symbol(row.symbol_json(), {}, shapes, dtypes=dtypes)
    assert [value.rank for value in graph.outputs] == [array.ndim for array in expected]
    found = run_model(to_model(graph), arrays)
    assert [(array.dtype, array.shape) for array in found] == [(array.dtype, array.shape) for array in expected]
    assert all(distance(one, other) == 0 for one, other in zip(found, expected, strict=True))
