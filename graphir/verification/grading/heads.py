"""Heads that saturate: behind a softmax that is sure of its answer, a wrong number looks right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from graphir.ops import traits_of
from graphir.ops.traits import Rounding, Saturation

if TYPE_CHECKING:
    from graphir.converters.onnx.files.structure import Structure
    from graphir.graph import Graph

COARSE = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
MOVING = frozenset({Rounding.VIEWS, Rounding.MOVES, Rounding.HOLDS})


@dataclass(frozen=True)
class Wiring:
    """Which operator makes each value, of which operands: what heads are found by. `aliases` are the names that values
    had in the model that they come from, `steps` those of the coarsest type that each value came through, by all of its
    names, where that is coarser than float32. `live` are those that depend on an input, None if that is not known,
    `random` those that are drawn."""

    producers: Mapping[str, tuple[str, tuple[str, ...]]]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    live: frozenset[str] | None = None
    random: frozenset[str] = frozenset()

    @property
    def quantizes(self) -> bool:
        """Whether real numbers are rounded to quantized ones on the way."""
        return any(traits_of(operator).rounding is Rounding.QUANTIZES for operator, _ in self.producers.values())

    @staticmethod
    def of(graph: Graph) -> Wiring:
        """That of a graph, without its subgraphs."""
        return Wiring(
            {
                value.name: (node.op.name, tuple("" if operand is None else operand.name for operand in node.inputs))
                for node in graph.nodes
                for value in node.outputs
            },
            {value.name: value.sources for value in graph.values},
            _steps(graph),
            _live(graph),
            frozenset(
                value.name for node in graph.nodes if node.op.rounding is Rounding.DRAWS for value in node.outputs
            ),
        )


def _live(graph: Graph) -> frozenset[str]:
    """All names of the values that depend on an input. A node without operands may draw numbers, and one with graphs
    inside may use any value: both count as such."""
    found = {value.name for value in graph.inputs}
    named: set[str] = set()
    for node in graph.nodes:
        operands = [operand.name for operand in node.inputs if operand is not None]
        if not operands or node.subgraphs or not found.isdisjoint(operands):
            found.update(value.name for value in node.outputs)
            named.update(name for value in node.outputs for name in (value.name, *value.sources))
    return frozenset(found | named)


def _steps(graph: Graph) -> dict[str, float]:
    found: dict[str, float] = {}
    named: dict[str, float] = {}
    for value in (*graph.inputs, *graph.parameters, *(made for node in graph.nodes for made in node.outputs)):
        step = COARSE.get(str(value.dtype), 0.0)
        if value.producer is not None:
            operands = (operand.name for operand in value.producer.inputs if operand is not None)
            step = max(step, *(found.get(name, 0.0) for name in operands), 0.0)
        if step:
            found[value.name] = step
            named |= dict.fromkeys((value.name, *value.sources), step)
    return named


def is_shiftless(operator: str) -> bool:
    """Whether an operator does not see what is added to all elements alike."""
    return traits_of(operator).saturates is Saturation.SHIFTLESS


def passes_on(operator: str) -> bool:
    """Whether an operator's results are elements of its operands."""
    return traits_of(operator).rounding in MOVING


def one_to_one_heads(structure: Structure | Wiring, output: str) -> list[tuple[str, str]]:
    """The heads that reach an output, each with its computed operand: equal outputs of equal models have equal operands
    there, up to what is added to all classes alike. Heads that lose more are left out."""
    found = [(structure.producers[head][0], _operand(structure, head)) for head in _heads(structure, [output])]
    return [
        (kind, name) for kind, name in found
        if traits_of(kind).saturates >= Saturation.ONE_TO_ONE and name in structure.producers
    ]  # fmt: skip


def scores(kind: str, array: NDArray[Any]) -> NDArray[Any] | None:
    """A head's operand as one row a sample; the largest of each is 0 where the head does not see what is added to all.
    None for what has more axes than classes."""
    if not is_shiftless(kind):
        return array
    if sum(size > 1 for size in array.shape[1:]) > 1 or array.ndim < 2 or not array.size:
        return None
    rows = array.reshape(len(array), -1)
    shifted: NDArray[Any] = rows - rows.max(axis=1, keepdims=True)
    return shifted


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


def beside_outputs(structure: Structure, *, optimized: bool) -> list[str]:
    """The operands of saturating heads that a session may give beside the model's outputs and compute what it would
    without: with optimisations those of a softmax, over which onnxruntime fuses nothing on the CPU unless it is
    quantized, without them all."""
    if optimized and structure.quantizes:
        return []
    heads = _heads(structure, structure.outputs)
    names = [_operand(structure, head) for head in heads if not optimized or is_shiftless(structure.producers[head][0])]
    return [name for name in dict.fromkeys(names) if name in structure.producers and name not in structure.outputs]


def hides_errors(structure: Structure | Wiring, outputs: Sequence[str]) -> bool:
    """Whether a computed value before a saturating head is not an output itself."""
    operands = [_operand(structure, head) for head in _heads(structure, outputs)]
    return any(name in structure.producers and name not in outputs for name in operands)


def _heads(structure: Structure | Wiring, outputs: Sequence[str]) -> list[str]:
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
        if traits_of(operator).saturates >= Saturation.SATURATES:
            found[name] = None
        elif passes_on(operator):
            pending += operands
    return list(found)


def _operand(structure: Structure | Wiring, name: str) -> str:
    operands = structure.producers[name][1]
    return operands[0] if operands else ""


__all__ = [
    "Wiring", "beside_outputs", "hides_errors", "is_shiftless", "one_to_one_heads", "passes_on", "scores",
    "values_before_heads",
]  # fmt: skip
