"""Cases of lookups, constants and sequence operators."""

from __future__ import annotations

import math

from tests.equivalence.case import Case, Input, case, data, param, values

TABLE = param("weight", 7, 4)
MATRIX = data(5, 3, name="a")
STEPS = data(5, 3, 2)
LENGTHS = values(2, 5, 1, name="sequence_length")


def indices(
    *numbers: float, shape: tuple[int, ...] | None = None, name: str = "indices", dtype: str = "float32"
) -> Input:
    """Explicit indices."""
    return values(*numbers, shape=shape, name=name, dtype=dtype)


CASES: tuple[Case, ...] = (
    case("Embedding", "plain", data(2, 3, kind="indices:7"), TABLE, input_dim=7, output_dim=4),
    case("Embedding", "outside", values(-3, 0, 6, 7, 99), TABLE, input_dim=7, output_dim=4),
    case("Embedding", "int32", data(4, kind="indices:7", dtype="int32"), TABLE, input_dim=7, output_dim=4),
    case("Embedding", "rank_3", data(2, 3, 2, kind="indices:7"), TABLE, input_dim=7, output_dim=4, dtype="float32"),
    case(
        "Embedding",
        "float16",
        data(2, 3, kind="indices:7"),
        param("weight", 7, 4, dtype="float16"),
        input_dim=7,
        output_dim=4,
        dtype="float16",
    ),
    case("take", "default", MATRIX, indices(0, 4, 2)),
    case("take", "clip_outside", MATRIX, indices(-3, 0, 4, 9), mode="clip"),
    case("take", "wrap_outside", MATRIX, indices(-3, 0, 4, 9), mode="wrap"),
    case("take", "axis_1", MATRIX, indices(0, 2, 2, 1, shape=(2, 2)), axis=1),
    case("take", "axis_-1", data(2, 3, 4, name="a"), indices(1, 3), axis=-1),
    case("take", "int64", MATRIX, indices(0, 4, 2, dtype="int64")),
    case("take", "raise_inside", MATRIX, indices(0, 4, 2), mode="raise"),
    case("take", "float64_rows", data(5, 3, name="a", dtype="float64"), indices(4, 4, 0, dtype="int32")),
    case("take", "wrap_axis_1", MATRIX, indices(-4, 5, shape=(1, 2)), axis=1, mode="wrap"),
    case("take", "scalar_rows", data(4, name="a"), indices(3, 1, shape=(2, 1))),
    case("batch_take", "outside", MATRIX, indices(-2, 7, 1, 1, 0, dtype="int32")),
    case("batch_take", "plain", MATRIX, indices(0, 2, 1, 1, 0, dtype="int32")),
    case("gather_nd", "rows", data(3, 4), indices(0, 2, 1, shape=(1, 3))),
    case("gather_nd", "elements", data(3, 4), indices(0, 2, 1, 3, shape=(2, 2))),
    case("gather_nd", "rank_3", data(2, 3, 4), indices(0, 1, 2, 1, shape=(2, 2), dtype="int32")),
    case("scatter_nd", "elements", data(2), indices(0, 2, 1, 3, shape=(2, 2)), shape=(3, 4)),
    case("scatter_nd", "rows", data(2, 4), indices(2, 0, shape=(1, 2)), shape=(3, 4)),
    case("pick", "last", data(3, 4), indices(0, 3, 1, name="index")),
    case("pick", "axis_0_keepdims", data(3, 4), indices(0, 2, 1, 1, name="index"), axis=0, keepdims=True),
    case("pick", "outside_clip", data(3, 4), indices(-1, 9, 1, name="index"), axis=1),
    case("pick", "outside_wrap", data(3, 4), indices(-1, 9, 1, name="index"), axis=1, mode="wrap"),
    case("pick", "rank_3", data(2, 3, 4), data(2, 4, name="index", kind="indices:3"), axis=1),
    case("one_hot", "plain", indices(0, 2, 3), depth=4),
    case("one_hot", "outside", indices(-1, 2, 7), depth=4),
    case("one_hot", "on_off", indices(0, 2, 1, 1, shape=(2, 2)), depth=3, on_value=5.0, off_value=-1.0),
    case("one_hot", "fraction", indices(0.9, 1.5, -0.5), depth=3),
    case("one_hot", "float64", indices(1, 2, dtype="int64"), depth=3, dtype="float64", on_value=2.5),
    case("pick", "keepdims_last", data(2, 3, 4), data(2, 3, name="index", kind="indices:4"), keepdims=True),
    case("gather_nd", "negative", data(3, 4), indices(-1, 2, 3, -4, shape=(2, 2))),
    case("one_hot", "int32", indices(0, 2, dtype="int32"), depth=3, dtype="int32"),
    case("_arange", "stop", start=1, stop=7, step=2),
    case("_arange", "no_stop", start=5, stop=None),
    case("_arange", "repeat", start=0, stop=3, repeat=2, dtype="int32"),
    case("_arange", "fraction", start=0.5, stop=2.2, step=0.5),
    case("_arange", "downwards", start=5, stop=0, step=-2),
    case("_contrib_arange_like", "flat", data(2, 3)),
    case("_contrib_arange_like", "axis", data(2, 3), axis=1, start=2, step=0.5),
    case("_contrib_arange_like", "repeat", data(6), axis=0, repeat=2),
    case("_zeros", "plain", shape=(2, 3)),
    case("_zeros", "int32", shape=(2,), dtype="int32"),
    case("_ones", "plain", shape=(2, 3), dtype="float64"),
    case("_full", "plain", shape=(2, 3), value=2.5, dtype="float32"),
    case("_eye", "square", N=3),
    case("_eye", "offset", N=3, M=4, k=1),
    case("_eye", "negative", N=4, M=3, k=-1),
    case("_linspace", "plain", start=0, stop=1, num=5),
    case("_linspace", "one from infinity", start=math.inf, stop=2, num=1),
    case("_linspace", "integers below the last", start=0, stop=1, num=50, dtype="int32"),
    case("_arange", "float64", start=0, stop=1, step=0.25, dtype="float64"),
    case("_zeros", "float16", shape=(3,), dtype="float16"),
    case("_full", "int32", shape=(2,), value=7, dtype="int32"),
    case("SequenceMask", "rank_4", data(3, 2, 2, 2), values(1, 3, name="sequence_length"), use_sequence_length=True),
    case("SequenceMask", "off", STEPS),
    case("SequenceMask", "default", STEPS, LENGTHS, use_sequence_length=True),
    case("SequenceMask", "value", STEPS, LENGTHS, use_sequence_length=True, value=-7.5),
    case("SequenceMask", "axis_1", data(3, 5), LENGTHS, use_sequence_length=True, axis=1, value=1),
    case("SequenceLast", "off", STEPS),
    case("SequenceLast", "default", STEPS, LENGTHS, use_sequence_length=True),
    case("SequenceLast", "axis_1", data(3, 5, 2), LENGTHS, use_sequence_length=True, axis=1),
    case("SequenceReverse", "off", STEPS),
    case("SequenceReverse", "default", STEPS, LENGTHS, use_sequence_length=True),
    case("SequenceReverse", "rank_2", data(5, 3), LENGTHS, use_sequence_length=True),
    case("SequenceReverse", "rank_2_off", data(5, 3)),
)

REFUSED: tuple[Case, ...] = (
    case("Embedding", "weight", data(2, kind="indices:7"), param("weight", 6, 4), input_dim=7, output_dim=4),
    case("take", "axis", MATRIX, indices(0, 1), axis=2),
    case("pick", "index_shape", data(3, 4), indices(0, 1, name="index")),
    case("gather_nd", "too_many", data(3), indices(0, 1, shape=(2, 1))),
    case("SequenceMask", "lengths", STEPS, values(1, 2, name="sequence_length"), use_sequence_length=True),
)

# Refused for the indices' values, which no importer can see.
REFUSED_AT_RUN_TIME: tuple[Case, ...] = (
    case("take", "raise_outside", MATRIX, indices(0, 9), mode="raise"),
    case("gather_nd", "outside", data(3, 4), indices(0, 0, 1, 4, shape=(2, 2))),
    case("gather_nd", "far_negative", data(3, 4), indices(0, -4, 1, 1, shape=(2, 2))),
)
