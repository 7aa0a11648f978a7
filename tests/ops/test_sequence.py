"""Rules of the operators on sequences and on optional values."""

from __future__ import annotations

from graphir.ops.sequence import (
    ConcatFromSequence,
    Optional,
    OptionalGetElement,
    OptionalHasElement,
    SequenceAt,
    SequenceConstruct,
    SequenceEmpty,
    SequenceErase,
    SequenceInsert,
    SequenceLength,
    SequenceMap,
    SplitToSequence,
)
from graphir.types import DType, OptionalType, SequenceType
from tests.ops.harness import bad, good
from tests.ops.rule import known, results, scalar, tensor

FLOATS = SequenceType(tensor("float32[2, N]"))
MAYBE = OptionalType(tensor("float32[2]"))

GOOD = (
    (SequenceConstruct(), ("float32[2,N]", "float32[2,N]"), "sequence(float32[2, N])"),
    (SequenceConstruct(), ("float32[2,3]", "float32[2,4]"), "sequence(float32[2, ?])"),
    (SequenceConstruct(), ("float32[2]", "float32[2,4]"), "sequence(float32[...])"),
    (SequenceEmpty(DType.INT64), (), "sequence(int64[...])"),
    (SequenceAt(), (FLOATS, "int64[]"), "float32[2, N]"),
    (SequenceAt(), ("?[...]", "int32[]"), "?[...]"),
    (SequenceInsert(), (FLOATS, "float32[2,N]"), "sequence(float32[2, N])"),
    (SequenceInsert(), (FLOATS, "float32[3,N]", "int64[]"), "sequence(float32[?, N])"),
    (SequenceInsert(), (SequenceType(tensor("float32[...]")), "float32[3]"), "sequence(float32[...])"),
    (SequenceErase(), (FLOATS, "int64[]"), "sequence(float32[2, N])"),
    (SequenceErase(), (FLOATS,), "sequence(float32[2, N])"),
    (SequenceLength(), (FLOATS,), "int64[]"),
    (ConcatFromSequence(1), (FLOATS,), "float32[2, ?]"),
    (ConcatFromSequence(-1, True), (FLOATS,), "float32[2, N, ?]"),
    (ConcatFromSequence(0, True), (FLOATS,), "float32[?, 2, N]"),
    (ConcatFromSequence(0), (SequenceType(tensor("float32[...]")),), "float32[...]"),
    (SplitToSequence(), ("float32[6,N]",), "sequence(float32[1, N])"),
    (SplitToSequence(axis=-1, keepdims=False), ("float32[6,N]",), "sequence(float32[6])"),
    (SplitToSequence(keepdims=False), ("float32[6,N]", scalar(2)), "sequence(float32[2, N])"),
    (SplitToSequence(keepdims=False), ("float32[6,N]", scalar(1)), "sequence(float32[...])"),
    (SplitToSequence(keepdims=False), ("float32[1,N]", scalar(2)), "sequence(float32[...])"),
    (SplitToSequence(keepdims=False), ("float32[6,N]", known(3, 3)), "sequence(float32[3, N])"),
    (SplitToSequence(), ("float32[7,N]", scalar(2)), "sequence(float32[?, N])"),
    (SplitToSequence(), ("float32[6,N]", known(3, 3)), "sequence(float32[3, N])"),
    (SplitToSequence(), ("float32[6,N]", known(2, 4)), "sequence(float32[?, N])"),
    (SplitToSequence(), ("float32[6,N]", "int64[]"), "sequence(float32[?, N])"),
    (SplitToSequence(), ("float32[...]",), "sequence(float32[...])"),
    (SequenceMap(), (FLOATS, "float32[2]"), "sequence(?[...])"),
    (Optional(), ("float32[2]",), "optional(float32[2])"),
    (Optional(FLOATS), (), "optional(sequence(float32[2, N]))"),
    (OptionalGetElement(), (MAYBE,), "float32[2]"),
    (OptionalGetElement(), (FLOATS,), "sequence(float32[2, N])"),
    (OptionalHasElement(), (MAYBE,), "bool[]"),
    (OptionalHasElement(), (None,), "bool[]"),
)

BAD = (
    (SequenceEmpty(), (FLOATS,), "SequenceEmpty takes none, found 1 operands"),
    (OptionalGetElement(), (None,), "cannot do without operand 0"),
    (OptionalHasElement(), ("float32[]", "float32[]"), "found 2 operands"),
    (SequenceConstruct(), ("float32[2]", "int64[2]"), "cannot hold both"),
    (SequenceConstruct(), ("float32[2]", None), r"cannot do without operand 1 \(inputs"),
    (SequenceAt(), ("float32[2]", "int64[]"), "expected a sequence"),
    (SequenceAt(), (FLOATS, "float32[]"), "position is float32"),
    (SequenceInsert(), (FLOATS, "int64[2]"), "cannot hold both"),
    (SequenceErase(), (MAYBE,), "expected a sequence"),
    (SequenceLength(), ("float32[2]",), "expected a sequence"),
    (ConcatFromSequence(2), (FLOATS,), "axis 2 does not exist"),
    (ConcatFromSequence(0), (SequenceType(MAYBE),), "expected a sequence of tensors"),
    (SplitToSequence(), ("float32[6]", known(2, 3)), "do not make up axis 0"),
    (SplitToSequence(), ("float32[6]", scalar(0)), "parts of 0"),
    (SplitToSequence(axis=1), ("float32[6]",), "axis 1 does not exist"),
    (SequenceMap(), ("float32[2]",), "expected a sequence"),
    (Optional(), (), "must be stated"),
)
test_results = good(GOOD)
test_refused = bad(BAD)


def test_map_has_as_many_results_as_its_body() -> None:
    assert results(SequenceMap(2), FLOATS) == ["sequence(?[...])"] * 2
