"""Normalizations as layers and as functions, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.ops.normalization import (
    LRN,
    BatchNormalization,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    LpNormalization,
    MeanVarianceNormalization,
    RMSNormalization,
)
from tests.converters.pytorch.cases import Case, Check, Constant, uniform

X = uniform(2, 6, 5, 4)
SCALE, BIAS = uniform(6, seed=1), uniform(6, seed=2)
ROWS, MORE = uniform(4, seed=1), uniform(4, seed=2)
MATRIX = uniform(5, 4, seed=3)
VECTORS = [Constant(uniform(6, low=0.5, high=2, seed=seed)) for seed in range(4)]
ZEROS = np.where(uniform(3, 4, 5) > -9, 0, 1).astype(np.float32) + np.eye(4, 5, dtype=np.float32)


def response(data: Any, size: int) -> Any:
    """LRN with alpha 0.5, by its definition; onnxruntime has it of odd sizes and 4 axes only."""
    before, after = (size - 1) // 2, size // 2
    squares = [np.square(data[:, max(c - before, 0) : c + after + 1]).sum(1) for c in range(data.shape[1])]
    return data / (1 + 0.5 / size * np.stack(squares, 1)) ** 0.75


CASES = [
    Case(BatchNormalization(), X, *VECTORS, text="self.y = nn.BatchNorm2d(6)"),
    Case(BatchNormalization(1e-3), uniform(3, 6), *VECTORS, batch=True, text="nn.BatchNorm1d(6, eps=0.001)"),
    Case(BatchNormalization(), X, *(vector.elements for vector in VECTORS)),
    Case(BatchNormalization(), uniform(2, 6, 2, 2, 2, 3), *VECTORS),
    Case(InstanceNormalization(), X, Constant(SCALE), Constant(BIAS),
         text="self.y = nn.InstanceNorm2d(6, affine=True)"),
    Case(InstanceNormalization(1e-3), uniform(2, 6, 7), Constant(SCALE), Constant(BIAS), batch=True,
         text="nn.InstanceNorm1d(6, eps=0.001, affine=True)"),
    Case(InstanceNormalization(), X, SCALE, BIAS, text="torch.group_norm(in0, 6, in1, in2)"),
    Case(InstanceNormalization(), uniform(2, 6, 1, 1), Constant(SCALE), Constant(BIAS), tolerance=1e-3),
    Case(InstanceNormalization(), uniform(1, 6, 2, 3, 2), Constant(SCALE), Constant(BIAS)),
    Case(GroupNormalization(3), X, Constant(SCALE), Constant(BIAS), text="self.y = nn.GroupNorm(3, 6)"),
    Case(GroupNormalization(2, 0.01), uniform(2, 6, 3), SCALE, BIAS, batch=True,
         text="torch.group_norm(in0, 2, in1, in2, eps=0.01)"),
    Case(GroupNormalization(6), X, Constant(SCALE), Constant(BIAS), batch=True),
    Case(LayerNormalization(), X, Constant(ROWS), Constant(MORE), batch=True, text="self.y = nn.LayerNorm(4)"),
    Case(LayerNormalization(-1, 1e-12), X, Constant(ROWS), text="nn.LayerNorm(4, eps=1e-12, bias=False)"),
    Case(LayerNormalization(-2), X, Constant(MATRIX), Constant(MATRIX + 1), text="nn.LayerNorm((5, 4))"),
    Case(LayerNormalization(2), X, Constant(ROWS), Constant(MATRIX)),
    Case(LayerNormalization(1), uniform(2, 3, 4), uniform(3, 4), uniform(3, 4), batch=True),
    Case(LayerNormalization(), X, Constant(ROWS.reshape(1, 1, 4)), text="nn.LayerNorm(4, bias=False)"),
    Case(LayerNormalization(), uniform(3, 4, dtype="float16"), Constant(ROWS.astype(np.float16))),
    Case(LayerNormalization(), uniform(3, 4, dtype="float64"),
         Constant(ROWS.astype(np.float64)), ROWS.astype(np.float64)),
    Case(RMSNormalization(), X, Constant(ROWS), batch=True, text="self.y = nn.RMSNorm(4, eps=1e-05)"),
    Case(RMSNormalization(-2, 0.01), X, MATRIX, text="F.rms_norm(in0, (5, 4), in1, eps=0.01)"),
    Case(RMSNormalization(2), X, Constant(ROWS)),
    Case(LRN(3), X, text="F.local_response_norm(x, 3)"),
    Case(LRN(5, 2e-2, 0.5, 2.0), X, batch=True, text="F.local_response_norm(x, 5, alpha=0.02, beta=0.5, k=2.0)"),
    Case(LRN(4, 0.5), X, expected=[response(X, 4)], text="local_response_norm(x, 4, 0.5, 0.75, 1.0)"),
    Case(LRN(3, 0.5), uniform(2, 6, 5), batch=True, expected=[response(uniform(2, 6, 5), 3)]),
    Case(LRN(3, 0.5), uniform(2, 6), expected=[response(uniform(2, 6), 3)]),
    Case(LpNormalization(), X, text="F.normalize(x, dim=-1, eps=1e-38)"),
    Case(LpNormalization(1, 1), X, batch=True, text="F.normalize(x, p=1, eps=1e-38)"),
    Case(LpNormalization(1, 2), ZEROS),
    Case(MeanVarianceNormalization(), X, batch=True),
    Case(MeanVarianceNormalization((1,)), X),
    Case(MeanVarianceNormalization((-1, 0)), uniform(3, 4, 5)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_normalization(case: Case, check: Check) -> None:
    check(case)
