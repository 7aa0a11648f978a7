"""Products of matrices, Einstein sums and determinants, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.converters.pytorch import to_module
from graphir.graph import Graph
from graphir.ops.elementwise import Add
from graphir.ops.linear import Det, Einsum, Gemm, MatMul, MatMulInteger
from graphir.tensor import Tensor
from graphir.types import DType, TensorType
from tests.converters.pytorch.cases import Case, Check, Constant, uniform


def integers(*shape: int, dtype: str = "uint8", low: float = 0, seed: int = 0) -> Any:
    return uniform(*shape, low=low, high=100, dtype=dtype, seed=seed)


ROWS = uniform(3, 5)
CASES = [
    Case(MatMulInteger(), integers(3, 5), integers(5, 2, seed=1), text="in0.to(torch.int32) @ in1.to(torch.int32)"),
    Case(MatMulInteger(), integers(3, 5), Constant(integers(5, 2)), Constant(integers()), Constant(integers(1)[0])),
    Case(MatMulInteger(), integers(2, 3, 5), integers(5, 2, dtype="int8", low=-99), integers(), integers(dtype="int8")),
    Case(MatMulInteger(), integers(3, 5), integers(5, 2), integers(), integers(2, seed=3), batch=True, closed=(1, 3)),
    Case(Einsum("ij,jk->ik"), uniform(3, 4), uniform(4, 5), text='torch.einsum("ij,jk->ik", in0, in1)'),
    Case(Einsum("...ii ->...i"), uniform(2, 3, 3), batch=True),
    Case(Einsum("bij, bjk"), uniform(2, 3, 4, dtype="float64"), uniform(2, 4, 1, dtype="float64")),
    Case(Einsum("ij->"), uniform(4, 2, dtype="int32"), batch=True),
    Case(Einsum("ij,j->"), uniform(4, 2, dtype="int8"), uniform(2, dtype="int8"), expected=[np.int8(2)]),
    Case(Det(), uniform(3, 3), text="torch.linalg.det(x)"),
    Case(Det(), uniform(2, 5, 4, 4), batch=True),
    Case(Det(), uniform(2, 1, 1)),
    Case(MatMul(), ROWS, Constant(uniform(5, 2)), batch=True, text="self.y = nn.Linear(5, 2, bias=False)"),
    Case(MatMul(), uniform(2, 4, 3, 5), uniform(4, 5, 1), batch=True, text="in0 @ in1"),
    Case(MatMul(), Constant(uniform(7, 3)), ROWS, text="self.c @ x"),
    Case(MatMul(), uniform(5), uniform(5, 2)),
    Case(MatMul(), uniform(2, 5, dtype="int64"), Constant(uniform(5, dtype="int64"))),
    Case(Gemm(), ROWS, Constant(uniform(5, 2)), Constant(uniform(2)), batch=True, text="self.y = nn.Linear(5, 2)"),
    Case(Gemm(transB=True), ROWS, Constant(uniform(2, 5)), text="self.y = nn.Linear(5, 2, bias=False)"),
    Case(Gemm(0.5, 2.0), ROWS, Constant(uniform(5, 2)), Constant(uniform(2)), batch=True),
    Case(Gemm(transA=True, transB=True), uniform(5, 3), uniform(2, 5), uniform(3, 1)),
    Case(Gemm(1.0, 0.25), ROWS, uniform(5, 2), uniform(2), batch=True),
    Case(Gemm(), ROWS, Constant(uniform(5, 2)), Constant(np.float32(2))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_product(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("is_bias_first", [False, True])
def test_a_product_with_the_bias_behind_it_names_both_parameters(is_bias_first: bool) -> None:
    graph = Graph("product")
    data = graph.add_input("data", TensorType(DType.FLOAT32, (2, 4)))
    kernel = graph.add_parameter("kernel", Tensor.of(uniform(4, 3)))
    bias = graph.add_parameter("offset", Tensor.of(uniform(3)))
    product = graph.add(MatMul(), data, kernel, name="product")
    operands = (bias, product) if is_bias_first else (product, bias)
    graph.set_outputs([graph.add(Add(), *operands, name="dense")])
    assert to_module(graph).names == [
        {"source": "kernel", "key": "dense.weight", "shape": [3, 4]},
        {"source": "offset", "key": "dense.bias", "shape": [3]},
    ]
