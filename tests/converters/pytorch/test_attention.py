"""Attention, and caches of keys and values, in torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphir.ops.attention import Attention, TensorScatter, WriteMode
from tests.converters.pytorch.cases import Case, Check, Constant, uniform


def written(cache: Any, update: Any, starts: Any, axis: int = -2) -> list[Any]:
    """The cache with an update, element by element."""
    found = np.moveaxis(cache.copy(), axis, 1)
    part = np.moveaxis(update, axis, 1)
    for row in range(len(cache)):
        for place in range(part.shape[1]):
            found[row, (starts[row] + place) % found.shape[1]] = part[row, place]
    return [np.moveaxis(found, 1, axis)]


C4, U4 = uniform(3, 2, 5, 4), uniform(3, 2, 3, 4, seed=1)
C3, U3 = uniform(2, 7, 3, dtype="int32"), uniform(2, 2, 3, seed=1, dtype="int32")
STARTS, LATE = np.array([0, 2, 1]), np.array([4, 2, 3])

CASES = [
    Case(TensorScatter(), C4, U4, STARTS, batch=True, expected=written(C4, U4, STARTS),
         text="write_to_cache(in0, in1, in2)"),
    Case(TensorScatter(mode=WriteMode.CIRCULAR), C4, U4, Constant(LATE), expected=written(C4, U4, LATE)),
    Case(TensorScatter(), C4, U4, expected=written(C4, U4, [0, 0, 0])),
    Case(TensorScatter(axis=1), C3, U3, np.array([5, 1]), expected=written(C3, U3, [5, 1], 1)),
    Case(TensorScatter(axis=-1), C3, C3[:, :, :2], np.array([1, 0]), expected=written(C3, C3[:, :, :2], [1, 0], -1),
         text="axis=-1"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_and_text(case: Case, check: Check) -> None:
    check(case)


Q, K, V = uniform(2, 4, 3, 8), uniform(2, 4, 5, 8, seed=1), uniform(2, 4, 5, 6, seed=2)
K2, V2 = (np.ascontiguousarray(each[:, :2]) for each in (K, V))
PAST_K, PAST_V = uniform(2, 4, 7, 8, seed=3), uniform(2, 4, 7, 6, seed=4)
ADDED, ALLOWED = uniform(3, 5, seed=5), uniform(2, 1, 3, 5, seed=6) > -1
HIDDEN = ALLOWED & (np.arange(3) != 1)[:, None]
SDPA = "F.scaled_dot_product_attention("

# Attributes, operands and what stands in the text; with a past the keys and values are results too.
ROWS: list[tuple[Attention, list[Any], str]] = [
    (Attention(), [Q, K, V], f"{SDPA}in0, in1, in2)"),
    (Attention(scale=0.5), [Q, K, V], "scale=0.5"),
    (Attention(is_causal=True), [Q, K, V], "is_causal=True"),
    (Attention(), [Q, K, V, ADDED], "attn_mask=in3"),
    (Attention(), [Q, K, V, ALLOWED], "attn_mask=in3"),
    (Attention(), [Q, K, V, HIDDEN], "attn_mask=in3"),
    (Attention(), [Q, K2, V2], "enable_gqa=True"),
    (Attention(), [Q, K, V, None, PAST_K, PAST_V], "torch.cat((in4, in1), dim=2)"),
    (Attention(is_causal=True), [Q, K, V, None, PAST_K, PAST_V], ".tril(7)"),
    (Attention(q_num_heads=2, kv_num_heads=2), [uniform(2, 3, 8), uniform(2, 5, 8), uniform(2, 5, 6)],
     "in0.unflatten(2, (2, -1)).transpose(1, 2)"),
    (Attention(q_num_heads=4, kv_num_heads=2), [uniform(2, 3, 8), uniform(2, 5, 4), uniform(2, 5, 6)],
     "enable_gqa=True"),
    (Attention(softcap=2.0), [Q, K, V], "torch.tanh"),
    (Attention(is_causal=True), [Q, K, V, ADDED], "softmax"),
]  # fmt: skip


ATTENTIONS = [
    Case(op, *operands, batch=batch, text=part, tolerance=1e-4, closed=(3,), results=3 if len(operands) > 4 else 1)
    for op, operands, part in ROWS for batch in (False, True)
]  # fmt: skip


@pytest.mark.parametrize("case", ATTENTIONS, ids=str)
def test_attention(case: Case, check: Check) -> None:
    check(case)
