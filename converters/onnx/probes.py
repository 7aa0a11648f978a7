"""What is measured inside a model to say what its inputs reached: a few numbers for each operator that does one thing
here and another there, computed by nodes that are added to the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from graphir.arrays import Array

PREFIX = "graphir_reached"
# What two operands are compared in. Of all in a model these would be too many; they are seen where they are asked for.
COMPARES = ("Max", "Min", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
# One side of zero each, as these do something else there.
AT_ZERO = ("Relu", "LeakyRelu", "PRelu", "Elu", "Celu", "Selu", "Abs")
FLOAT, DOUBLE = 1, 11
EXTENTS = ("ReduceMin", "ReduceMax", "ReduceSum")
# A bound from here on bounds nothing: exporters write the largest number of a type for infinity.
ENDLESS = 1e30


@dataclass(frozen=True)
class Sight:
    """One thing that inputs may reach or not: `kind` and `way` in words (`Clip`, `its upper bound`), the operator's
    name, and whether numbers (by the names of `wanted`) say that it was reached. `side` is the operand's to what it is
    compared with, -1 below and 1 beyond, `result` what the operator gives first."""

    kind: str
    way: str
    name: str
    reached: Callable[[Mapping[str, Array]], bool]
    side: int = 1
    result: str = ""


class Probes:
    """The sights of a graph, or of the nodes that make these `results`, and the nodes that measure them.

    With `guarded` values without elements have an extent too,
    at the cost of a copy."""

    def __init__(self, graph: Any, *, guarded: bool = False, results: AbstractSet[str] | None = None) -> None:
        import onnx

        self._onnx: Any = onnx
        self._constants = {tensor.name for tensor in graph.initializer} | {
            name for node in graph.node if node.op_type == "Constant" for name in node.output
        }
        self._guarded = guarded
        self._are_watched = results is not None
        self._measuring: list[list[Any]] = []
        self.wanted: dict[str, None] = {}
        self.sights: list[Sight] = [
            replace(sight, result=next(iter(node.output), ""))
            for node in graph.node
            if results is None or (node.output and node.output[0] in results)
            for sight in (*self._of_node(node), *(self._of_operands(node) if self._are_watched else ()))
        ]

    def addition(self) -> bytes:
        """Return bytes that, behind those of the model, make it give what is wanted.

        onnxruntime goes from the last node without readers to the first and computes what each needs. So what measures
        the first values stands last: in the other order all values that are measured would be held until the end.
        """
        outputs = [self._onnx.ValueInfoProto(name=name) for name in self.wanted]
        nodes = [node for measuring in reversed(self._measuring) for node in measuring]
        added = self._onnx.ModelProto(graph=self._onnx.GraphProto(node=nodes, output=outputs))
        return added.SerializeToString()  # type: ignore[no-any-return]

    def _of_node(self, node: Any) -> Iterator[Sight]:
        name = node.name or (node.output[0] if node.output else "")
        operands, kind = list(node.input), node.op_type
        if node.domain not in ("", "ai.onnx"):
            return
        if kind == "Clip":
            yield from self._clip(node, name)
        elif kind in AT_ZERO:
            low, high = self._span(operands[0])
            yield Sight(kind, "anything below 0", name, lambda values: bool(values[low] < 0), -1)
            yield Sight(kind, "anything above 0", name, lambda values: bool(values[high] > 0))
        elif kind == "HardSwish":
            low, high = self._span(operands[0])
            yield Sight(kind, "anything below -3", name, lambda values: bool(values[low] < -3), -1)
            yield Sight(kind, "anything above 3", name, lambda values: bool(values[high] > 3))
        elif kind in ("HardSigmoid", "QuantizeLinear"):
            yield from self._saturates(kind, name, node.output[0])
        elif kind == "Gather":
            yield from self._table(node, name)
        elif kind in ("Where", "If") and (operands[0] not in self._constants or (kind == "If" and self._are_watched)):
            low, high = self._span(operands[0])
            yield Sight(kind, "a condition that is false", name, lambda values: bool(values[low] == 0), -1)
            yield Sight(kind, "a condition that is true", name, lambda values: bool(values[high] == 1))
        elif kind == "Mod":
            low, _ = self._span(operands[0])
            yield Sight(kind, "a negative number", name, lambda values: bool(values[low] < 0), -1)
        elif kind == "NonMaxSuppression":
            shape = self._shape(node.output[0])
            yield Sight(kind, "a box that is kept", name, lambda values: bool(values[shape][0] > 0))
        elif kind == "Loop" and not self._are_watched and operands[0] and operands[0] not in self._constants:
            low, high = self._span(operands[0])
            yield Sight(kind, "more than one round", name, lambda values: bool(values[high] > 1))

    def _of_operands(self, node: Any) -> Iterator[Sight]:
        """Of nodes that compare two operands: that the first one is smaller, larger, equal. Of loops: that they run."""
        name, kind, operands = node.name or node.output[0], node.op_type, list(node.input)
        if kind in COMPARES and len(operands) == 2:
            less, more = (self._any(operator, operands) for operator in ("Less", "Greater"))
            yield Sight(kind, "a smaller first operand", name, lambda values: bool(values[less] > 0), -1)
            yield Sight(kind, "a larger first operand", name, lambda values: bool(values[more] > 0))
        elif kind == "Equal":
            low, high = self._span(node.output[0])
            yield Sight(kind, "unequal numbers", name, lambda values: bool(values[low] == 0), -1)
            yield Sight(kind, "equal numbers", name, lambda values: bool(values[high] == 1))
        elif kind == "Loop":
            spans = [self._span(operand)[1] for operand in operands[:2] if operand]
            yield Sight(kind, "a round", name, lambda values: all(values[high] > 0 for high in spans))
        elif kind == "Scan":
            scanned = self._shape(operands[-1])
            yield Sight(kind, "a round", name, lambda values: bool(values[scanned].all()))
        elif kind == "Slice" and operands[2:] and self._constants.issuperset(operands[1:3]):
            whole, part = self._shape(operands[0]), self._shape(node.output[0])
            yield Sight(kind, "anything that is left", name, lambda values: bool(values[part].all()), -1)
            yield Sight(kind, "anything cut off", name, lambda values: bool((values[whole] != values[part]).any()))

    def _any(self, operator: str, operands: Sequence[str]) -> str:
        """Return the name of what is 1 where a comparison holds somewhere."""
        result = f"{PREFIX}_{operator}_{'_'.join(operands)}"
        is_new = f"{PREFIX}_most_{result}" not in self.wanted
        _, high = self._span(result)
        if is_new:
            self._measuring[-1].insert(0, self._onnx.helper.make_node(operator, list(operands), [result]))
        return high

    def _clip(self, node: Any, name: str) -> Iterator[Sight]:
        """Bounds that are there, and no stand-in for infinity."""
        stated = {attribute.name: abs(attribute.f) < ENDLESS for attribute in node.attribute}
        operands = [*node.input, "", ""]
        (low, high), (least, most) = self._span(operands[0]), self._span(node.output[0])
        if operands[1] or stated.get("min"):
            bound = self._span(operands[1])[0] if operands[1] else ""
            yield Sight("Clip", "its lower bound", name, lambda values: bool(
                values[low] < values[least] or (bound and values[bound] <= -ENDLESS)), -1)  # fmt: skip
        if operands[2] or stated.get("max"):
            end = self._span(operands[2])[1] if operands[2] else ""
            yield Sight("Clip", "its upper bound", name, lambda values: bool(
                values[high] > values[most] or (end and values[end] >= ENDLESS)))  # fmt: skip

    def _saturates(self, kind: str, name: str, result: str) -> Iterator[Sight]:
        low, high = self._span(result)
        ends = ((0, -128), (255, 127)) if kind == "QuantizeLinear" else ((0,), (1,))
        yield Sight(kind, "its least value", name, lambda values: float(values[low]) in ends[0])
        yield Sight(kind, "its largest value", name, lambda values: float(values[high]) in ends[1])

    def _table(self, node: Any, name: str) -> Iterator[Sight]:
        """Of a table that is a weight and looked up along its first axis."""
        table, index = node.input
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
        if table not in self._constants or index in self._constants or axis != 0:
            return
        (low, high), shape = self._span(index, DOUBLE), self._shape(table)
        yield Sight("table", "its first row", name, lambda values: float(values[low]) in (0, -values[shape][0]))
        yield Sight("table", "its last row", name, lambda values: float(values[high]) in (-1, values[shape][0] - 1))

    def _span(self, value: str, code: int = FLOAT) -> tuple[str, str]:
        """Return the names of the least and the largest element."""
        names = [f"{PREFIX}_{what}_{value}" for what in ("least", "most")]
        if names[0] not in self.wanted:
            make = self._onnx.helper.make_node
            cast = f"{PREFIX}_number_{value}"
            nodes = [make("Cast", [value], [cast], to=code)]
            ends = self._with_ends(nodes, cast, code) if self._guarded else [cast, cast]
            for name, operator, end in zip(names, ("ReduceMin", "ReduceMax"), ends, strict=True):
                nodes.append(make(operator, [end], [name], keepdims=0))
                self.wanted[name] = None
            self._measuring.append(nodes)
        return names[0], names[1]

    def _with_ends(self, nodes: list[Any], value: str, code: int) -> list[str]:
        """Return the names of the value in a row, with infinity behind it for the least, and its opposite for the
        largest."""
        make, tensor = self._onnx.helper.make_node, self._onnx.helper.make_tensor
        flat, shape = f"{value}_row", f"{value}_shape"
        nodes += [
            make("Constant", [], [shape], value=tensor(shape, self._onnx.TensorProto.INT64, [1], [-1])),
            make("Reshape", [value, shape], [flat]),
        ]
        ends = []
        for what, number in (("infinity", float("inf")), ("opposite", float("-inf"))):
            constant, joined = f"{value}_{what}", f"{flat}_{what}"
            nodes += [
                make("Constant", [], [constant], value=tensor(constant, code, [1], [number])),
                make("Concat", [flat, constant], [joined], axis=0),
            ]
            ends.append(joined)
        return ends

    def _shape(self, value: str) -> str:
        name = f"{PREFIX}_shape_{value}"
        if name not in self.wanted:
            self._measuring.append([self._onnx.helper.make_node("Shape", [value], [name])])
            self.wanted[name] = None
        return name


def extent_names(value: str) -> list[str]:
    """Return the names of a value's least element, its largest and its sum in a model with `extent_addition` behind
    it."""
    return [f"{PREFIX}_{operator}_{value}" for operator in EXTENTS]


def extent_addition(values: Sequence[str]) -> bytes:
    """Bytes that, behind those of a model, make it give the extents of values of float32, of which none may be empty.

    NaN may be lost in the least and the largest element, never in the sum. For the order see `Probes.addition`.
    """
    import onnx

    model = onnx.ModelProto()
    for value in reversed(values):
        for operator, name in zip(EXTENTS, extent_names(value), strict=True):
            model.graph.node.append(onnx.helper.make_node(operator, [value], [name], keepdims=0))
            model.graph.output.add(name=name)
    return model.SerializeToString()  # type: ignore[no-any-return]


def never_reached(sights: Sequence[Sight], reached: Collection[int]) -> list[str]:
    """Return a line for each way that operators of a kind were never brought to, and one for the kinds seen in full."""
    ways: dict[tuple[str, str], list[str]] = {}
    kinds: dict[str, set[str]] = {}
    for index, sight in enumerate(sights):
        kinds.setdefault(sight.kind, set()).add(sight.name)
        if index not in reached:
            ways.setdefault((sight.kind, sight.way), []).append(sight.name)
    lines = []
    for (kind, way), names in ways.items():
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        lines.append(f"{kind}: {way} never reached in {len(names)} of {len(kinds[kind])} ({shown})")
    whole = [f"{len(names)} {kind}" for kind, names in kinds.items() if not any(kind == name for name, _ in ways)]
    if whole:
        lines.append(f"both ways of {', '.join(whole)} reached")
    return lines
