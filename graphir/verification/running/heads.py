"""Heads that saturate: behind a softmax that is sure of its answer, a wrong number looks right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from graphir.ops import traits_of
from graphir.ops.traits import Rounding, Saturation
from graphir.structure.reaching import reachable

if TYPE_CHECKING:
    from graphir.converters.onnx.files.structure import Structure

MOVING = frozenset({Rounding.VIEWS, Rounding.MOVES, Rounding.HOLDS})


def is_shiftless(operator: str) -> bool:
    """Return whether an operator does not see what is added to all elements alike."""
    return traits_of(operator).saturates is Saturation.SHIFTLESS


def passes_on(operator: str) -> bool:
    """Return whether an operator's results are elements of its operands."""
    return traits_of(operator).rounding in MOVING


def scores(kind: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return a head's operand as one row a sample; the largest of each is 0 where the head does not see what is added
    to all. What has more axes than classes stays as it is."""
    if not is_shiftless(kind) or sum(size > 1 for size in array.shape[1:]) > 1 or array.ndim < 2 or not array.size:
        return array
    rows = array.reshape(len(array), -1)
    shifted: NDArray[Any] = rows - rows.max(axis=1, keepdims=True)
    return shifted


def values_before_heads(
    structure: Structure, outputs: Sequence[str], known: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return the nearest value before each saturating head that `known` (source name to candidate name) holds.

    Each stands by its source name, with its candidate name and the operator of the head if that reads it, else "".
    Values that are outputs themselves are left out.
    """
    sources = {name: source for source, name in reversed(list(known.items()))}
    before: dict[str, tuple[str, str]] = {}
    for head in _heads(structure, outputs):
        name, kind = _operand(structure, head), structure.producers[head][0]
        while name in structure.producers and name not in sources:
            name, kind = _operand(structure, name), ""
        if name in structure.producers and name not in outputs:
            # Of two heads that read one value, that counts which sees more of it.
            seen = before.get(sources[name], (name, kind))[1]
            before[sources[name]] = name, kind if is_shiftless(seen) else seen
    return before


def beside_outputs(structure: Structure, *, optimized: bool) -> list[str]:
    """Return the operands of saturating heads that a session may give beside the model's outputs and compute what it
    would without: with optimisations those of a softmax, and what is only moved before another head, over which
    onnxruntime fuses nothing on the CPU unless it is quantized, without them all."""
    if optimized and structure.quantizes:
        return []
    operands = {head: _operand(structure, head) for head in _heads(structure, structure.outputs)}
    producers = structure.producers
    names = [
        name for head, name in operands.items()
        if not optimized or is_shiftless(producers[head][0]) or (name in producers and passes_on(producers[name][0]))
    ]  # fmt: skip
    return [name for name in dict.fromkeys(names) if name in structure.producers and name not in structure.outputs]


def hides_errors(structure: Structure, outputs: Sequence[str]) -> bool:
    """Return whether a computed value before a saturating head is not an output itself."""
    operands = [_operand(structure, head) for head in _heads(structure, outputs)]
    return any(name in structure.producers and name not in outputs for name in operands)


def _heads(structure: Structure, outputs: Sequence[str]) -> list[str]:
    """Return the results of saturating operators that reach an output without further computation."""

    def is_head(name: str) -> bool:
        return traits_of(structure.producers[name][0]).saturates >= Saturation.SATURATES

    def moved(name: str) -> list[str]:
        operator, operands = structure.producers[name]
        is_open = passes_on(operator) and not is_head(name)
        return [operand for operand in operands if operand in structure.producers] if is_open else []

    return list(filter(is_head, reachable((name for name in outputs if name in structure.producers), moved)))


def _operand(structure: Structure, name: str) -> str:
    operands = structure.producers[name][1]
    return operands[0] if operands else ""
