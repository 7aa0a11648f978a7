"""What a node of oneDNN fuses, and how a record inside it is imported over values of the graph."""

from __future__ import annotations

from dataclasses import replace

from graphir.converters.mxnet.files.records import VARIABLE, NNVMNode
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.schema.operators import typed_attributes
from graphir.graph import Value

SUMS = ("elemwise_add", "_npi_add")


def inner(node: ImportNode, record: NNVMNode, *values: Value) -> Value:
    """A record inside the node, imported over these operands: its result. Raises what its import function raises."""
    from graphir.converters.mxnet.importing.ops import import_table

    made = view(node, record, *values)
    found = import_table()[record.op](made)
    return found if isinstance(found, Value) else found[0]


def view(node: ImportNode, record: NNVMNode, *values: Value) -> ImportNode:
    """A record inside the node as a node of its own."""
    made = ImportNode(node.importer, record, typed_attributes(record), [], [f"{node.name}_{record.name}"])
    made.operands = [lambda value=value: value for value in values]  # type: ignore[misc]
    made.name = f"{node.name}_{record.name}"
    return made


class Fused:
    """The records inside: the layer, a batch normalization, activations before and behind a sum. Places of operands.

    `operands` is how many the layer has, `addend` the place of what is added, `first_range` that of the first end of a
    range.
    """

    def __init__(self, node: ImportNode, layer: str) -> None:
        attrs = node.attrs
        if len(node.record.subgraphs) != 1:
            node.refuse(f"it has {len(node.record.subgraphs)} symbols inside, expected one")
        self.normalization: NNVMNode | None = None
        self.before: NNVMNode | None = None
        self.behind: NNVMNode | None = None
        layers: list[NNVMNode] = []
        early = bool(attrs.get("with_act") or attrs.get("with_eltwise"))
        for record in node.record.subgraphs[0].nodes:
            if record.op == layer:
                layers.append(record)
            elif record.op == "BatchNorm":
                self.normalization = record
            elif record.op not in (*SUMS, VARIABLE):
                self._take(node, record, early)
        self._check_activations(node, early)
        if len(layers) != 1:
            node.refuse(f"the symbol inside has {len(layers)} {layer}, expected one")
        self.layer = layers[0]
        self.operands = 2 if typed_attributes(self.layer)["no_bias"] else 3
        states = 4 if attrs.get("with_bn") else 0
        if bool(states) != (self.normalization is not None):
            node.refuse("with_bn does not say what the symbol inside has")
        behind = self.operands + states
        self.addend = behind if attrs.get("with_sum") else None
        self.first_range = behind + (self.addend is not None)

    def _take(self, node: ImportNode, record: NNVMNode, early: bool) -> None:
        if early and self.before is None:
            self.before = record
        elif self.behind is None:
            self.behind = record
        else:
            node.refuse(f"the symbol inside has {record.op} ({record.name}), which MXNet fuses nowhere")

    def _check_activations(self, node: ImportNode, early: bool) -> None:
        """Refuse attributes that say other than the symbol inside, since MXNet goes by them."""
        for stated, held, where in (
            (early, self.before, "behind the layer"),
            (bool(node.attrs.get("with_postsum_act")), self.behind, "behind the sum"),
        ):
            if stated != (held is not None):
                said = "an" if stated else "no"
                node.refuse(f"its attributes state {said} activation {where}, other than the symbol inside")

    @property
    def last(self) -> NNVMNode | None:
        """The activation that nothing follows."""
        return self.behind if self.behind is not None or self.addend is not None else self.before

    @staticmethod
    def is_relu(record: NNVMNode) -> bool:
        """Whether a record keeps the positive numbers."""
        return record.op == "Activation" and typed_attributes(record)["act_type"] == "relu"

    def is_linear(self, record: NNVMNode) -> bool:
        """Whether a factor may be taken before it or behind it."""
        leaky = record.op == "LeakyReLU" and typed_attributes(record)["act_type"] == "leaky"
        return leaky or self.is_relu(record)

    @staticmethod
    def is_unsigned(record: NNVMNode | None) -> bool:
        """Whether MXNet takes a dense layer's result with this activation for uint8."""
        kind = None if record is None else typed_attributes(record).get("act_type")
        if record is None or record.op == "Activation":
            return kind in ("relu", "sigmoid", "softrelu")
        return kind == "leaky" if record.op == "LeakyReLU" else True

    def is_positive(self, record: NNVMNode | None) -> bool:
        """Whether MXNet takes a record's results for uint8."""
        return record is not None and (record.op == "clip" or self.is_relu(record))

    def with_bias(self, bias: bool) -> NNVMNode:
        """The layer's record with or without a bias."""
        return replace(self.layer, attrs=self.layer.attrs | {"no_bias": str(not bias)})

    def view(self, node: ImportNode) -> ImportNode:
        """The layer as a node of its own, for what its attributes say."""
        return view(node, self.layer)
