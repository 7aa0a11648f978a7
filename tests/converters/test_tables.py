"""The tables of exports: an operator stands once, with a function that takes it."""

from __future__ import annotations

import pytest

from graphir.converters.mxnet.exporting import context as mxnet
from graphir.converters.onnx.exporting.context import AnyNode, ExportNode, by_opset, direct, row, rows, table
from graphir.errors import GraphirError
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.pooling import GlobalAveragePool, GlobalMaxPool, MaxPool


def export_conv(node: ExportNode[Conv]) -> None:
    """Takes one operator."""


def export_windowed(node: ExportNode[Conv | MaxPool]) -> None:
    """Takes two."""


def export_any(node: AnyNode) -> None:
    """Takes all."""


def test_a_function_is_held_to_its_operator_by_type_checkers() -> None:
    # Those that mypy must refuse say so: it refuses an ignored error that is none.
    made = table(
        row(Conv, export_conv),
        row(MaxPool, export_windowed),
        row(ConvTranspose, export_conv),  # type: ignore[arg-type]
        *rows([GlobalMaxPool, GlobalAveragePool], export_any),
    )
    row(GlobalMaxPool, export_windowed)  # type: ignore[arg-type]
    row(MaxPool, by_opset({1: direct(), 9: export_conv}))  # type: ignore[dict-item]
    assert made[Conv] is export_conv
    assert list(made) == [Conv, MaxPool, ConvTranspose, GlobalMaxPool, GlobalAveragePool]


def to_mxnet(node: mxnet.ExportNode[Conv]) -> None:
    """Takes one operator."""


def test_so_they_are_in_mxnet_s_terms() -> None:
    assert mxnet.row(Conv, to_mxnet) == (Conv, to_mxnet)
    assert list(mxnet.rows([Conv], to_mxnet)) == [(Conv, to_mxnet)]
    mxnet.row(MaxPool, to_mxnet)  # type: ignore[arg-type]
    mxnet.row(Conv, export_conv)  # type: ignore[arg-type]


def test_an_operator_stands_once() -> None:
    with pytest.raises(GraphirError, match="two export functions for Conv, MaxPool"):
        table(*rows([Conv, MaxPool], direct()), row(MaxPool, export_windowed), row(Conv, export_conv))
