"""ONNX operators for MXNet: live MXNet, the reference and the symbol read back compute what onnxruntime does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

import pytest

from graphir.errors import UnsupportedOpError
from tests.converters.mxnet.export_rows import (
    activation,
    attention,
    convolution,
    core,
    detection,
    indexing,
    linear,
    ngrams,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
    resize,
    signal,
    triangles,
)
from tests.converters.mxnet.exporting import Row, check_live, check_read_back, check_reference, written
from tests.equivalence.live import Live

FAMILIES = (
    *(activation, attention, convolution, core, detection, indexing, linear, ngrams),
    *(normalization, pooling, quantization, recurrent, reduction, resize, signal, triangles),
)


def opened(family: ModuleType) -> list[Row]:
    """The family's rows that may have inputs of open size, with such."""
    batches, closed = getattr(family, "BATCHES", {}), getattr(family, "KEPT_CLOSED", ())
    found = []
    for row in family.ROWS:
        batch = tuple(name for name in batches.get(row.op, ()) if name in row.data)
        if batch and row.name not in closed and row.data[batch[0]].ndim > 1:
            found.append(replace(row, batch=batch, batch_axis=getattr(family, "BATCH_AXIS", 0)))
    return found


CLOSED: tuple[Row, ...] = tuple(row for family in FAMILIES for row in family.ROWS)
ROWS = (*CLOSED, *(row for family in FAMILIES for row in opened(family)))
STATED = tuple(row for row in CLOSED if row.wanted is not None)
REFUSED: tuple[tuple[Row, str], ...] = tuple(row for family in FAMILIES for row in getattr(family, "REFUSED", ()))


@pytest.fixture(scope="module")
def live() -> Iterator[dict[bool, Live]]:
    """Live MXNet for the module, without and with oneDNN."""
    with Live(onednn=False) as plain, Live(onednn=True) as onednn:
        yield {False: plain, True: onednn}


@pytest.mark.live
@pytest.mark.one_of(8, by="row.op")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.label)
def test_live_mxnet_computes_the_same(row: Row, live: dict[bool, Live]) -> None:
    check_live(row, live[row.onednn])


@pytest.mark.one_of(8, by="row.op")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.label)
def test_read_back_computes_the_same(row: Row) -> None:
    check_read_back(row)


@pytest.mark.one_of(8, by="row.op")
@pytest.mark.parametrize("row", CLOSED, ids=lambda row: row.label)
def test_reference_computes_the_same(row: Row) -> None:
    check_reference(row)


@pytest.mark.parametrize("row", [row for row in ROWS if row.computes], ids=lambda row: row.label)
def test_operators_that_are_written(row: Row) -> None:
    assert set(row.computes) <= set(written(row).operators)


@pytest.mark.parametrize("row", STATED, ids=lambda row: row.label)
def test_what_is_written(row: Row) -> None:
    assert tuple(written(row).operators) == row.wanted


@pytest.mark.parametrize("row, kind", [(linear.DTYPES[2], "integer product"), (linear.HALVES, "float16 product")])
def test_decisions(row: Row, kind: str) -> None:
    assert [decision.kind for decision in written(row).graph.decisions] == [kind]


@pytest.mark.parametrize(("row", "text"), REFUSED, ids=[row.label for row, _ in REFUSED])
def test_refusal(row: Row, text: str) -> None:
    with pytest.raises(UnsupportedOpError, match=text):
        written(row)
