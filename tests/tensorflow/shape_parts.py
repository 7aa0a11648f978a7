"""Parts of tensors put together, taken apart, and put in another order."""

from __future__ import annotations

from tests.tensorflow.case import Case, case, data, ints, values

CASES = (
    case("ConcatV2", "two", data(2, 3), data(2, 4), ints(1, shape=())),
    case("ConcatV2", "negative", data(2, 3, 1), data(2, 3, 2), data(2, 3, 1), ints(-1, shape=())),
    case("ConcatV2", "int32", data(2, dtype="int32"), data(3, dtype="int32"), ints(0, shape=())),
    case("Pack", "front", data(2, 3), data(2, 3)),
    case("Pack", "last", data(2, 3), data(2, 3), axis=-1),
    case("Pack", "scalars", data(), data(), data()),
    case("Concat", "first_input", ints(1, shape=()), data(2, 3), data(2, 4), N=2),
    case("ParallelConcat", "default", data(1, 3), data(1, 3), shape=(2, 3), open_axes=""),
    case("Unpack", "front", data(3, 2), num=3, slots=(0, 1, 2), open_axes=""),
    case("Unpack", "last", data(2, 3, 4), num=4, axis=-1, slots=(0, 3)),
    case("Unpack", "vector", data(3, dtype="int32"), num=3, slots=(2, 1)),
    case("Split", "two", ints(1, shape=()), data(2, 6), num_split=2, slots=(0, 1)),
    case("Split", "negative", ints(-1, shape=()), data(2, 3, 6), num_split=3, slots=(0, 1, 2)),
    case("Split", "one", ints(1, shape=()), data(2, 6), num_split=1),
    case("Split", "half", ints(3, shape=()), data(2, 4, 5, 6), num_split=2, slots=(1,)),
    case("SplitV", "sizes", data(2, 6), ints(1, 3, 2), ints(1, shape=()), num_split=3, slots=(0, 1, 2)),
    case("SplitV", "rest", data(2, 7, 3), ints(1, -1, 2, dtype="int64"), ints(-2, shape=()), num_split=3,
         slots=(0, 1, 2)),
    case("SplitV", "rest_first", data(7), ints(-1, 3), ints(0, shape=()), num_split=2, slots=(0, 1)),
    case("SplitV", "rest_last", data(7), ints(4, -1), ints(0, shape=()), num_split=2, slots=(0, 1)),
    case("SplitV", "one", data(7), ints(7), ints(0, shape=()), num_split=1),
    case("ReverseV2", "one", data(2, 5), ints(1)),
    case("ReverseV2", "two", data(2, 5, 3, dtype="int32"), ints(-1, 0)),
    case("ReverseV2", "nothing", data(2, 5), ints()),
    case("ReverseV2", "bool", data(7, dtype="bool", kind="bits"), ints(0)),
    case("Reverse", "flags", data(2, 5, 3), ints(1, 0, 1, dtype="bool")),
    case("ReverseSequence", "default", data(3, 5, 2), values(5, 1, 3, dtype="int32"), seq_dim=1),
    case("ReverseSequence", "time_first", data(5, 3), values(5, 1, 3, dtype="int64"), seq_dim=0, batch_dim=1),
    case("ReverseSequence", "far", data(2, 3, 5, 4), values(5, 1, 3, dtype="int64"), seq_dim=2, batch_dim=1),
    case("ReverseSequence", "batch_last", data(2, 5, 3), values(5, 1, 3, dtype="int64"), seq_dim=1, batch_dim=2),
    case("Roll", "one", data(2, 5), ints(2, shape=()), ints(1, shape=())),
    case("Roll", "backwards", data(2, 5), ints(-7, shape=()), ints(-1, shape=())),
    case("Roll", "two", data(4, 5, dtype="int32"), ints(1, -2), ints(0, 1)),
    case("Roll", "same_axis", data(4), ints(1, 2), ints(0, 0)),
    case("Roll", "whole", data(4), ints(8, shape=()), ints(0, shape=())),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    case("ConcatV2", "shapes", data(2, 3), data(3, 4), ints(1, shape=()), reason="2"),
    case("Split", "uneven", ints(1, shape=()), data(2, 5), num_split=2, reason="2 equal parts"),
    case("Split", "computed_axis", data(dtype="int32"), data(2, 4), num_split=2, reason="the axis"),
    case("Roll", "computed", data(4), data(dtype="int32"), ints(0, shape=()), reason="the shift"),
)
