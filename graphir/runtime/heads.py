"""Heads that saturate: behind a softmax that is sure of its answer, a wrong number looks right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphir.converters.onnx.structure import Structure

SATURATING = frozenset(
    {"Softmax", "LogSoftmax", "Sigmoid", "HardSigmoid", "Hardmax", "Tanh", "ArgMax", "ArgMin", "Softsign"}
)
PASSED_ON = frozenset(
    {"Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Cast", "Slice", "Split", "Concat"}
)


def values_before_heads(
    structure: Structure, outputs: Sequence[str], known: Mapping[str, str]
) -> dict[str, str]:
    """The nearest value before each saturating head that `known` (source name to candidate name) holds, likewise
    source name to candidate name. Values that are outputs themselves are left out."""
    sources = {name: source for source, name in reversed(list(known.items()))}
    found: dict[str, str] = {}
    for head in _heads(structure, outputs):
        name = _operand(structure, head)
        while name in structure.producers and name not in sources:
            name = _operand(structure, name)
        if name in structure.producers and name not in outputs:
            found[sources[name]] = name
    return found


def hides_errors(structure: Structure, outputs: Sequence[str]) -> bool:
    """Whether a computed value before a saturating head is not an output itself."""
    operands = [_operand(structure, head) for head in _heads(structure, outputs)]
    return any(name in structure.producers and name not in outputs for name in operands)


def _heads(structure: Structure, outputs: Sequence[str]) -> list[str]:
    """The results of saturating operators that reach an output without further computation."""
    found: dict[str, None] = {}
    seen: set[str] = set()
    pending = list(outputs)
    while pending:
        name = pending.pop()
        if name in seen or name not in structure.producers:
            continue
        seen.add(name)
        operator, operands = structure.producers[name]
        if operator in SATURATING:
            found[name] = None
        elif operator in PASSED_ON:
            pending += operands if operator == "Concat" else operands[:1]
    return list(found)


def _operand(structure: Structure, name: str) -> str:
    operands = structure.producers[name][1]
    return operands[0] if operands else ""


__all__ = ["hides_errors", "values_before_heads"]
