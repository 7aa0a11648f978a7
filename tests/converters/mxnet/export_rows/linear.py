"""Matrix products written for MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import row
from tests.typed import untyped

RANDOM = np.random.default_rng(7)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Numbers of a normal distribution."""
    return RANDOM.standard_normal(shape).astype(dtype)


def integers(*shape: int, low: int = -9, high: int = 10, dtype: str = "int32") -> np.ndarray[Any, Any]:
    """Integers from `low` to below `high`."""
    return RANDOM.integers(low, high, shape).astype(dtype)


def bytes_of(*shape: int, dtype: str = "uint8") -> np.ndarray[Any, Any]:
    """Any 8-bit integers."""
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max + 1, shape).astype(dtype)


MATMUL = tuple(
    row(f"{left}-{right}", "MatMul", normal(*left), normal(*right))
    for left, right in [
        ((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (1, 4, 5)), ((2, 1, 3, 4), (3, 4, 5)), ((3, 4), (2, 3, 4, 5)), ((2, 3, 3, 4), (2, 3, 4, 1)),
        ((1, 1, 3, 4), (2, 3, 4, 5)), ((4,), (2, 3, 4, 5)), ((2, 3, 4, 5), (5,)), ((1, 1), (1, 1)),
    ]
)  # fmt: skip
GEMM = (
    row("a held matrix", "MatMul", normal(3, 4), normal(4, 5), constants=(1,), wanted=("FullyConnected",)),
    row("a held matrix, 3 axes", "MatMul", normal(2, 3, 4), normal(4, 5), constants=(1,), wanted=("FullyConnected",)),
    row("one matrix", "MatMul", normal(2, 3, 3, 4), normal(1, 1, 4, 5), wanted=("Reshape", "dot")),
    row("one matrix, fewer axes", "MatMul", normal(3, 4), normal(1, 1, 4, 5)),
    row("of a vector", "MatMul", normal(4), normal(4, 5), constants=(1,), wanted=("dot",)),
    row("held integers", "MatMul", integers(3, 4), integers(4, 5), constants=(1,)),
    row("dense", "Gemm", normal(3, 4), normal(5, 4), normal(5), constants=(1, 2), transB=1, wanted=("FullyConnected",)),
    row("without bias", "Gemm", normal(3, 4), normal(5, 4), constants=(1,), transB=1, wanted=("FullyConnected",)),
    row("plain", "Gemm", normal(3, 4), normal(4, 5), wanted=("dot",)),
    row("row of biases", "Gemm", normal(3, 4), normal(5, 4), normal(1, 5), constants=(1, 2), transB=1,
        wanted=("FullyConnected",)),
    row("held as it stands", "Gemm", normal(3, 4), normal(4, 5), normal(5), constants=(1, 2),
        wanted=("FullyConnected",)),
    row("left turned", "Gemm", normal(4, 3), normal(4, 5), normal(3, 5), transA=1, wanted=("dot", "broadcast_add")),
    row("both turned, factors", "Gemm", normal(4, 3), normal(5, 4), normal(1, 5), transA=1, transB=1, alpha=0.5,
        beta=-2.0, wanted=("_linalg_gemm2", "_mul_scalar", "broadcast_add")),
    row("column", "Gemm", normal(3, 4), normal(4, 5), normal(3, 1), beta=0.25),
    row("scalar", "Gemm", normal(3, 4), normal(4, 5), normal(), alpha=3.0),
    row("one", "Gemm", normal(3, 4), normal(4, 5), normal(1), transB=0),
    row("row", "Gemm", normal(3, 4), normal(5, 4), normal(1, 5), transB=1),
    row("beta 0", "Gemm", normal(3, 4), normal(4, 5), normal(5), beta=0.0, wanted=("dot",)),
    row("float64", "Gemm", normal(3, 4, dtype="float64"), normal(4, 5, dtype="float64"), alpha=1.5),
    row("float16", "Gemm", normal(3, 4, dtype="float16"), normal(4, 5, dtype="float16"), normal(5, dtype="float16")),
)  # fmt: skip
DTYPES = tuple(
    row(f"MatMul {dtype}", "MatMul", make(2, 3, 4, dtype=dtype), make(4, 5, dtype=dtype))
    for dtype, make in (("float16", normal), ("float64", normal), ("int32", integers), ("int64", integers))
)
INTEGER = (
    row("no zero points", "MatMulInteger", bytes_of(3, 4), bytes_of(4, 5)),
    row("zero points", "MatMulInteger", bytes_of(3, 4), bytes_of(4, 5), np.uint8(128), np.uint8(3)),
    row("one zero point", "MatMulInteger", bytes_of(3, 4), bytes_of(4, 5, dtype="int8"), np.uint8(128),
        constants=(1, 2)),
    row("by column", "MatMulInteger", bytes_of(3, 4), bytes_of(4, 5), np.uint8(7), bytes_of(5), constants=(1, 2, 3)),
    row("batches", "MatMulInteger", bytes_of(2, 3, 70), bytes_of(2, 70, 5), np.uint8(7), np.uint8(200)),
    row("one element", "MatMulInteger", bytes_of(3, 4), bytes_of(4, 5), bytes_of(1), bytes_of(1)),
)  # fmt: skip


def scale(value: float) -> np.ndarray[Any, Any]:
    """A scale of float32."""
    return np.array(value, np.float32)


QUANTIZED = (
    row("uint8", "QLinearMatMul", bytes_of(5, 7), scale(0.0066), np.uint8(113), bytes_of(7, 4), scale(0.00705),
        np.uint8(114), scale(0.0107), np.uint8(118)),
    row("int8", "QLinearMatMul", bytes_of(5, 7, dtype="int8"), scale(0.0066), np.int8(-14),
        bytes_of(7, 4, dtype="int8"), scale(0.00705), np.int8(13), scale(0.0207), np.int8(-18)),
    row("batches", "QLinearMatMul", bytes_of(2, 5, 7), scale(0.0066), np.uint8(113), bytes_of(2, 7, 4), scale(0.00705),
        np.uint8(114), scale(0.0107), np.uint8(118), constants=(1, 2, 3, 4, 5, 6, 7)),
    # Half the int8 range: processors without VNNI add products with uint8 in pairs that saturate at int16.
    row("by column", "QLinearMatMul", bytes_of(5, 7), scale(0.0066), np.uint8(113), bytes_of(7, 4, dtype="int8") // 2,
        RANDOM.uniform(0.004, 0.01, 4).astype(np.float32), np.zeros(4, np.int8), scale(0.0407), np.uint8(118),
        constants=(3, 4, 5)),
)  # fmt: skip
EINSUM = tuple(
    row(equation, "Einsum", *(normal(*shape) for shape in shapes), equation=equation)
    for equation, *shapes in untyped([
        ("ij->ji", (3, 4)), ("ij->i", (3, 4)), ("ij->", (3, 4)), ("ij,jk->ik", (3, 4), (4, 5)), ("i,i->", (4,), (4,)),
        ("i,j->ij", (3,), (4,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("bhid,bhjd->bhij", (2, 2, 3, 5), (2, 2, 4, 5)),
        ("ii->i", (3, 3)), ("ii->", (3, 3)), ("iji->j", (3, 4, 3)), ("...ij,...jk->...ik", (2, 2, 3, 4), (2, 2, 4, 5)),
        ("...ii->...i", (2, 3, 3)), ("ij,ij->ij", (3, 4), (3, 4)), ("ij,ij->i", (3, 4), (3, 4)),
        ("ij,kj", (3, 4), (5, 4)),
        ("abc,cd,de->abe", (2, 3, 4), (4, 5), (5, 2)), ("i...->...", (3, 2, 4)), ("abc,acd->dab", (2, 3, 4), (2, 4, 5)),
        ("ab,cd->ac", (2, 3), (4, 5)), ("cab,cd->abd", (4, 2, 3), (4, 5)),
        ("abc,dc->abd", (2, 3, 4), (5, 4)), ("ijk,ilm,njm,nlk->", (2, 3, 4), (2, 5, 3), (3, 3, 3), (3, 5, 4)),
        ("ij,jk->ik", (3, 1), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 1, 5)), ("bij,bjk->bik", (1, 3, 4), (2, 4, 5)),
        ("iij,jkk->ik", (3, 3, 4), (4, 2, 2)), ("b i j -> b j i", (2, 3, 4)), ("ba", (2, 3)),
    ])
)  # fmt: skip
EINSUM_DTYPES = (
    row("float16", "Einsum", normal(2, 3, 4, dtype="float16"), normal(2, 4, dtype="float16"), equation="bij,bj->bi"),
    row("float64", "Einsum", normal(2, 3, dtype="float64"), normal(3, 4, dtype="float64"), equation="ij,jk->ik",
        wanted=("dot",)),
    row("int64", "Einsum", integers(2, 3, dtype="int64"), integers(3, 4, dtype="int64"), equation="ij,jk->ki"),
)  # fmt: skip
DET = tuple(row(f"{shape}", "Det", normal(*shape)) for shape in [(1, 1), (2, 2), (5, 5), (3, 4, 4), (2, 3, 3, 3)])
ROWS = (*MATMUL, *GEMM, *DTYPES, *INTEGER, *QUANTIZED, *EINSUM, *EINSUM_DTYPES, *DET)
HALVES = row("dense", "Gemm", normal(3, 4, dtype="float16"), normal(5, 4, dtype="float16"), transB=1)
BATCHES = dict.fromkeys(("Gemm", "MatMul"), ("x0",))
