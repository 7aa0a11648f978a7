"""ONNX operators for MXNet: live MXNet, the reference and the symbol read back compute what onnxruntime does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from graphir.errors import UnsupportedOpError
from tests.converters.mxnet.export_rows import (
    activation,
    attention,
    convolution,
    detection,
    normalization,
    pooling,
    quantization,
    resize,
)
from tests.converters.mxnet.roads import Row, check_live, check_read_back, check_reference, written
from tests.equivalence.live import Live

FAMILIES = (activation, attention, convolution, detection, normalization, pooling, quantization, resize)
KEPT_CLOSED = frozenset(row for family in FAMILIES for row in getattr(family, "KEPT_CLOSED", ()))
CLOSED: tuple[Row, ...] = tuple(row for family in FAMILIES for row in family.ROWS)
OPEN = {name: inputs for family in FAMILIES for name, inputs in getattr(family, "BATCHES", {}).items()}
ROWS = (
    *CLOSED,
    *(
        replace(row, name=f"{row.name}-open", batch=OPEN[row.op])
        for row in CLOSED
        if row.op in OPEN and row.name not in KEPT_CLOSED
    ),
)
REFUSED: tuple[tuple[Row, str], ...] = tuple(row for family in FAMILIES for row in family.REFUSED)


@pytest.fixture(scope="module")
def live() -> Iterator[dict[bool, Live]]:
    """Live MXNet for the module, without and with oneDNN."""
    with Live(onednn=False) as plain, Live(onednn=True) as onednn:
        yield {False: plain, True: onednn}


@pytest.mark.live
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_live_mxnet_computes_the_same(row: Row, live: dict[bool, Live]) -> None:
    check_live(row, live[row.onednn])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_read_back_computes_the_same(row: Row) -> None:
    check_read_back(row)


@pytest.mark.parametrize("row", CLOSED, ids=lambda row: row.name)
def test_reference_computes_the_same(row: Row) -> None:
    check_reference(row)


@pytest.mark.parametrize(("row", "text"), REFUSED, ids=[row.name for row, _ in REFUSED])
def test_refusal(row: Row, text: str) -> None:
    with pytest.raises(UnsupportedOpError, match=text):
        written(row)
