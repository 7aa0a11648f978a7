"""Layers that are quantized, and the error that each causes by itself on the reference's numbers.

Both models are cut (`CutModel`) at the values that both have. The part of the quantized model before such a value runs
on the reference's numbers: the error of its result is the layer's own. The float model behind that value runs on this
result: the error of its outputs is what the layer causes when it alone is quantized.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from graphir.arrays import Array
from graphir.converters.onnx.files.cut import CutModel
from graphir.converters.session import lean_session
from graphir.ops import traits_of
from graphir.quantization.samples import Batch
from graphir.runtime.session import OnnxSession
from graphir.safety.counted import counted
from graphir.structure.record import mutable_record, record

# Operators of which quantized layers consist; the outer ones of a static model stand around float operators.
QUANTIZING = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulNBits"})
# Operators that QDQQuantizer removes, and the end of the names of values behind a rounding.
REMOVED, ROUNDED = frozenset({"Relu", "Clip"}), "_DequantizeLinear_Output"
# Layers whose operands and results are in memory at a time, and samples on which they are ranked.
LAYERS_AT_ONCE, RANKED_ON = 8, 4


@record
class QuantizedLayer:
    """A part of the float model that is quantized as one: the value that it ends with, its nodes (those that
    onnxruntime fuses, such as Conv and Relu) and its operator. `own` is the error of its result when it alone is
    quantized, `caused` that of the worst output, or of what a softmax in front of it reads."""

    value: str
    nodes: tuple[str, ...]
    operator: str
    own: float = math.nan
    caused: float = math.nan


@mutable_record
class RelativeError:
    """The relative error of arrays: the root of the sum of squared differences over that of squares. Of whole numbers
    it is the share that differs."""

    apart: float = 0.0
    size: float = 0.0
    is_real: bool = True

    def add(self, expected: Array, computed: Array) -> None:
        """Add an array of the reference and the other model's."""
        self.is_real = expected.dtype.kind in "fV"
        if expected.shape != computed.shape:
            self.apart = math.inf
        elif self.is_real:
            wide = expected.astype(np.float64)
            self.apart += float(np.square(computed.astype(np.float64) - wide).sum())
            self.size += float(np.square(wide).sum())
        else:
            self.apart += float((expected != computed).sum())
            self.size += expected.size

    @property
    def error(self) -> float:
        """Return the error; infinity where a result is not finite or where the reference is all 0."""
        if self.apart == 0:
            return 0.0
        share = self.apart / self.size if self.size else math.inf
        return math.inf if not share < math.inf else math.sqrt(share) if self.is_real else share


@mutable_record
class OutputErrors:
    """The relative error of each output over all samples."""

    outputs: dict[str, RelativeError] = field(default_factory=dict)

    def add(self, expected: Mapping[str, Array], computed: Mapping[str, Array]) -> None:
        """Add the outputs of both models on a batch."""
        for name, array in expected.items():
            self.outputs.setdefault(name, RelativeError()).add(array, computed[name])

    @property
    def worst(self) -> float:
        """Return the largest error of an output."""
        return max((each.error for each in self.outputs.values()), default=0.0)


def shared_values(reference: CutModel, quantized: CutModel) -> dict[str, str]:
    """Return the names in a quantized model of the values that both have, by those in the float one.

    Where the rounding behind a Relu or Clip does the same, QDQQuantizer removes it, and its result has the name of what
    comes before: the same numbers are those behind the rounding.
    """
    made = set(quantized.results)
    shared = {name: name for name in reference.results if name in made}
    for value in shared:
        (last, operator) = reference.nodes([value], shared)[-1]
        rounded = value + ROUNDED
        if operator in REMOVED and rounded in made:
            is_there = last in {name for name, _ in quantized.nodes([value], shared)}
            shared[value] = value if is_there else rounded
    return shared


def quantized_layers(reference: CutModel, quantized: CutModel) -> list[QuantizedLayer]:
    """Return the layers of a float model that are quantized in the other one, in the order of computation."""
    shared = shared_values(reference, quantized)
    names = set(shared.values())
    layers = []
    for value, name in shared.items():
        operators = {operator for _, operator in quantized.nodes([name], names)}
        nodes = reference.nodes([value], shared)
        if operators & QUANTIZING or any(operator.endswith("Integer") for operator in operators):
            layers.append(QuantizedLayer(value, tuple(node for node, _ in nodes), nodes[0][1]))
    return layers


class LayerRanking:
    """A float model, a quantized one and batches of samples on which layers are compared."""

    def __init__(self, reference: CutModel, quantized: CutModel, batches: Sequence[Batch]) -> None:
        self._reference, self._quantized = reference, quantized
        self.samples, self._batches = 0, list[Batch]()
        for batch in batches:
            if not self.samples or self.samples + batch.samples <= RANKED_ON:
                self._batches.append(batch)
                self.samples += batch.samples
        self._names = shared_values(reference, quantized)
        self._values = {name: value for value, name in self._names.items()}
        # A softmax that is near 0 and 1 hides errors: what it reads is compared too.
        made_by = [reference.producer(name) for name in reference.outputs]
        heads = [read[0] for operator, read in made_by if operator and traits_of(operator).saturates and read]
        self._ends = list(dict.fromkeys([*reference.outputs, *(name for name in heads if reference.producer(name)[0])]))

    def rank(self, layers: Sequence[QuantizedLayer]) -> list[QuantizedLayer]:
        """Return the layers with their errors, the one that causes the largest first."""
        ranked: list[QuantizedLayer] = []
        groups = [layers[start : start + LAYERS_AT_ONCE] for start in range(0, len(layers), LAYERS_AT_ONCE)]
        outputs = self._outputs()
        for group in counted(groups, f"group of {LAYERS_AT_ONCE} layers"):
            ranked += self._compared(group, outputs)
        return sorted(ranked, key=lambda layer: (-layer.caused, -layer.own))

    def _outputs(self) -> list[dict[str, Array]]:
        session = _session(self._reference, {}, self._ends)[0]
        return [session.run(_inputs(session, batch())) for batch in self._batches]

    def _compared(
        self, group: Sequence[QuantizedLayer], outputs: Sequence[Mapping[str, Array]]
    ) -> Iterable[QuantizedLayer]:
        """Yield the layers of a group with their errors."""
        values = [layer.value for layer in group]
        names = [self._names[value] for value in values]
        edges = [self._values[name] for name in sorted(self._quantized.edges(names, self._values))]
        made, _ = _session(self._reference, {}, list(dict.fromkeys([*values, *edges])))
        own = {value: RelativeError() for value in values}
        results: list[Mapping[str, Array]] = []
        part: tuple[OnnxSession, dict[str, str]] | None = None
        for batch in self._batches:
            feeds = batch()
            expected = made.run(_inputs(made, feeds))
            fed = {self._names[value]: expected[value] for value in edges}
            part = part or _session(self._quantized, fed, names)
            computed = _run(part, feeds, fed)
            results.append({value: computed[self._names[value]] for value in values})
            for value in values:
                own[value].add(expected[value], results[-1][value])
        for layer in group:
            caused = self._caused(layer.value, [result[layer.value] for result in results], outputs)
            yield replace(layer, own=own[layer.value].error, caused=caused)

    def _caused(self, value: str, results: Sequence[Array], outputs: Sequence[Mapping[str, Array]]) -> float:
        """Return the largest error of an output when the float model goes on with these results of a layer."""
        errors = OutputErrors()
        behind = [name for name in self._ends if name != value and self._reference.edges([name], [value])]
        part = _session(self._reference, {value: results[0]}, behind) if behind else None
        for batch, result, expected in zip(self._batches, results, outputs, strict=True):
            computed = {value: result} if value in expected else {}
            computed |= {} if part is None else _run(part, batch(), {value: result})
            errors.add({name: expected[name] for name in computed}, computed)
        return errors.worst


def _session(model: CutModel, fed: Mapping[str, Array], wanted: Sequence[str]) -> tuple[OnnxSession, dict[str, str]]:
    part, names = model.part(fed, wanted)
    return lean_session(part.SerializeToString(), "cpu", ".", is_part=True), names


def _run(
    part: tuple[OnnxSession, dict[str, str]], feeds: Mapping[str, Array], fed: Mapping[str, Array]
) -> dict[str, Array]:
    session, names = part
    computed: dict[str, Array] = session.run(
        {**_inputs(session, feeds), **{name: fed[value] for value, name in names.items()}}
    )
    return computed


def _inputs(session: OnnxSession, feeds: Mapping[str, Array]) -> dict[str, Array]:
    return {name: feeds[name] for name in session.inputs if name in feeds}
