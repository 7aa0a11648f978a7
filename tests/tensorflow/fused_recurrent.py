"""Fused recurrent cells and layers."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.case import Case, Input, case, data, ints, param

ALL = (0, 1, 2, 3, 4, 5, 6)


def _cell_inputs(batch: int, features: int, units: int, dtype: str = "float32") -> tuple[Input, ...]:
    """x, cell, state, w, three peepholes and bias of LSTMBlockCell."""
    return (
        data(batch, features, dtype=dtype), data(batch, units, name="c", dtype=dtype),
        data(batch, units, name="h", dtype=dtype), param("w", features + units, 4 * units, dtype=dtype),
        *(param(f"p{place}", units, dtype=dtype) for place in range(3)), param("b", 4 * units, dtype=dtype),
    )  # fmt: skip


def _layer_inputs(most: int, steps: int, batch: int, features: int, units: int) -> tuple[Input, ...]:
    """seq_len_max, then what the cell takes with steps in front."""
    _, *rest = _cell_inputs(batch, features, units)
    return (ints(most, shape=(), dtype="int64"), data(steps, batch, features), *rest)


def _layer(op: str, variant: str, *sizes: int, slots: tuple[int, ...] = (6,), **attrs: Any) -> Case:
    return case(op, variant, *_layer_inputs(*sizes), slots=slots, **attrs)


CASES: tuple[Case, ...] = (
    case("LSTMBlockCell", "default", *_cell_inputs(3, 5, 4), slots=ALL),
    case(
        "LSTMBlockCell", "peephole-clip", *_cell_inputs(2, 3, 4), slots=ALL, use_peephole=True, cell_clip=0.3,
        forget_bias=0.5,
    ),
    case("LSTMBlockCell", "no-clip-state", *_cell_inputs(1, 7, 2), slots=(1, 6), cell_clip=-1.0, forget_bias=0.0),
    case("LSTMBlockCell", "float16", *_cell_inputs(2, 3, 4, "float16"), slots=(1, 6)),
    case(
        "GRUBlockCell", "default", data(3, 5), data(3, 4, name="h"), param("w", 9, 8), param("v", 9, 4), param("b", 8),
        param("c", 4), slots=(0, 1, 2, 3),
    ),
    case(
        "GRUBlockCell", "state-alone", data(1, 2), data(1, 3, name="h"), param("w", 5, 6), param("v", 5, 3),
        param("b", 6), param("c", 3), slots=(3,),
    ),
    *(
        row
        for op in ("BlockLSTM", "BlockLSTMV2")
        for row in (
            _layer(op, "layer", 6, 6, 2, 5, 4, cell_clip=-1.0),
            _layer(op, "layer-peephole", 6, 6, 2, 5, 4, cell_clip=0.0, use_peephole=True),
            _layer(op, "layer-shorter", 4, 6, 3, 5, 4, cell_clip=-1.0),
            _layer(op, "clip", 6, 6, 2, 5, 4, cell_clip=0.2),
            _layer(op, "all-results", 6, 6, 2, 5, 4, slots=ALL, cell_clip=0.4, use_peephole=True),
            _layer(op, "states-shorter", 4, 6, 2, 5, 4, slots=(1, 6), cell_clip=-1.0),
        )
    ),
    _layer("BlockLSTM", "forget-bias", 5, 5, 2, 3, 4, cell_clip=-1.0, forget_bias=0.3),
    _layer("BlockLSTM", "default-clip", 5, 5, 2, 3, 4),
)  # fmt: skip

REFUSED: tuple[Case, ...] = (
    case("LSTMBlockCell", "columns", *_cell_inputs(2, 5, 4)[:3], param("w", 9, 15), *_cell_inputs(2, 5, 4)[4:],
         reason="(features + units, 4 * units)"),
    case("BlockLSTM", "bias", *_layer_inputs(3, 3, 2, 5, 4)[:-1], param("b", 6), cell_clip=-1.0,
         reason="(features + units, 4 * units)"),
    case("BlockLSTMV2", "flat", *_layer_inputs(3, 3, 2, 5, 4)[:4], param("w", 9), *_layer_inputs(3, 3, 2, 5, 4)[5:],
         reason="expected 2 axes"),
)  # fmt: skip
