"""A module while it is written: its layers, parameters and statements.

Export functions add statements whose texts refer to values by number. `compose` decides which of them are needed,
which are written inside others, and what the values are called.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.pytorch.exporting.expression import (
    EDGE,
    Expr,
    ValueReference,
    call,
    expr,
    references,
    unary,
)
from graphir.converters.pytorch.exporting.layer_names import layer_name, names_of_layers
from graphir.converters.pytorch.exporting.naming import OF_MODULES, Identifiers, without_common_scope
from graphir.converters.pytorch.exporting.sizes import size_text, symbols_of
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Node, Value
from graphir.node import Decision
from graphir.serial.weights import NAMES
from graphir.tensor import Tensor
from graphir.types import Dim, DType, Sym, TensorType

# What torch calls the dtypes that it computes with.
DTYPES = {
    DType.FLOAT16: "float16", DType.FLOAT32: "float32", DType.FLOAT64: "float64", DType.BFLOAT16: "bfloat16",
    DType.INT8: "int8", DType.INT16: "int16", DType.INT32: "int32", DType.INT64: "int64", DType.UINT8: "uint8",
    DType.UINT16: "uint16", DType.UINT32: "uint32", DType.UINT64: "uint64", DType.BOOL: "bool",
    DType.COMPLEX64: "complex64", DType.COMPLEX128: "complex128",
    DType.FLOAT8E4M3FN: "float8_e4m3fn", DType.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    DType.FLOAT8E5M2: "float8_e5m2", DType.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
}  # fmt: skip
ATTRIBUTE = re.compile(r"\bself\.([A-Za-z_][A-Za-z0-9_]*)")
# torch refuses a number that is beyond these, as the shortest text of the largest one is.
LARGEST = {DType.BFLOAT16: float(2**128 - 2**120), DType.FLOAT32: float(np.finfo(np.float32).max)}
# The least number that is rounded to an infinite float32: half a unit above the largest one.
FLOAT32_OVERFLOW = float(2**128 - 2**103)
# Constants with so few elements stand in the text.
SHORT_CONSTANT = 16
MOST_PLAIN = 1 << 16
# The tensors of a layer by name, each with the parameter of the graph that it is or that it was made from.
Weights = dict[str, tuple[Tensor, Value]]
BOOLS, WHOLE = (bool, np.bool_), (int, np.integer)


@dataclass(slots=True, eq=False)
class Statement:
    """`targets = text`, or with `blocks` what runs under each header, as of an `if`; the blocks assign the targets. A
    block without header runs before the others.

    `value` is what the first target holds, for a comment on its shape. `keeps` says that the text has to run where it
    stands, such as one that draws random numbers. `names` are what its targets are called that are no values, "" for
    those that are. `pattern` is what stands on the left, with `{}` for each target, where that is no plain tuple.
    """

    targets: tuple[int, ...]
    text: str
    value: Value | None = None
    blocks: Sequence[tuple[str, list[Statement]]] = ()
    keeps: bool = False
    names: tuple[str, ...] = ()
    is_setting: bool = False
    pattern: str = ""
    reads: tuple[int, ...] = field(init=False)
    assigns: tuple[int, ...] = field(init=False)
    attributes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Take the texts apart, those inside blocks too: once for all who read them. `assigns` are all targets."""
        text, self.assigns = self.text, self.targets
        if self.blocks:
            text = self._all_text()
            inner = [number for _, block in self.blocks for statement in block for number in statement.assigns]
            self.assigns = (*self.targets, *inner)
        self.reads = references(text)
        self.attributes = tuple(ATTRIBUTE.findall(text)) if "self." in text else ()

    def _all_text(self) -> str:
        inner = ([header, *(other._all_text() for other in block)] for header, block in self.blocks)
        return " ".join([self.text, *(text for texts in inner for text in texts)])

    @property
    def form(self) -> tuple[object, ...]:
        """Return what statements have in common that differ only in which values and attributes they read."""
        parts = (ATTRIBUTE.sub("self", self.text) if self.attributes else self.text).split(EDGE)
        del parts[1::3]
        return (self.pattern, len(self.targets), len(self.attributes), *parts)


class Submodule(NamedTuple):
    """An attribute that `__init__` makes: its constructor, and the tensors of its state_dict by their names in it."""

    attribute: str
    constructor: str
    tensors: Mapping[str, Tensor]


class Stored(NamedTuple):
    """A parameter of the module itself, or a buffer: how `__init__` makes it. `tensor` is None where that is all of
    it, which is not stored then."""

    attribute: str
    statement: str
    tensor: Tensor | None
    is_buffer: bool


class Export:
    """What is known of the module so far. `graph` is the one that is written, in terms that PyTorch has; `write_nodes`
    takes nodes of a graph inside it through their export functions."""

    def __init__(
        self, graph: Graph, write_nodes: Callable[[Sequence[Node]], None], *, training: bool = False
    ) -> None:
        self.graph = graph
        self.training = training
        self.imported = {(decision.kind, decision.node) for decision in graph.decisions}
        # Weights that training leaves as they are: their keys in a single class, with their layers' classes.
        self.frozen: dict[str, str] = {}
        # What else the file's first lines say, by the node that it is about.
        self.notes: dict[str, str] = {}
        self.write_nodes = write_nodes
        self.layers: dict[str, Submodule] = {}
        self.stored: dict[str, Stored] = {}
        self.ties: list[str] = []
        self.functions: dict[str, None] = {}
        self.statements: list[Statement] = []
        self._outermost = self.statements
        self.decisions: list[Decision] = []
        self.values: dict[int, Value] = {}
        self.absorbed: set[Node] = set()
        # Values with axes 0 and 1 in the other order, as expressions.
        self.turned: dict[Value, Expr] = {}
        self.attributes = Identifiers(OF_MODULES)
        self._device: int | None = None
        self._numbers: dict[Value, int] = {}
        self._bound: dict[Value, Expr] = {}
        self._owners: dict[Value, str] = {}
        # Layers by their constructors and the parameters of the graph that they are made from.
        self._made: dict[Hashable, str] = {}
        # What the source calls the tensors of the state_dict, by their keys in a single class.
        self.sources: dict[str, str] = {}
        self._symbols: dict[str, Expr] = {}
        names = {node: layer_name(node) for node in graph.nodes}
        self._short = without_common_scope(names.values())
        self._layer_names = self._short | names_of_layers(names, self._short)
        self._count = 0
        for value in graph.inputs:
            self.find_symbols(value)

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors of the state_dict by their keys, in a single class without blocks, once all is written."""
        result = {stored.attribute: stored.tensor for stored in self.stored.values() if stored.tensor is not None}
        for attribute, layer in self.layers.items():
            for name, tensor in layer.tensors.items():
                result[f"{attribute}.{name}"] = tensor
        return result

    def state(self) -> tuple[int, int, Statement | None, int]:
        """Return how much there is so far, for `forget`."""
        last = self.statements[-1] if self.statements else None
        return len(self.layers), len(self.stored), last, len(self.ties)

    def forget(self, state: tuple[int, int, Statement | None, int]) -> None:
        """Let go what was added since: by a function that then refused its node."""
        layers, stored, last, ties = state
        for name in list(self.layers)[layers:]:
            del self.layers[name]
            self._forget_owner(name)
        for name in list(self.stored)[stored:]:
            del self.stored[name]
            self._forget_owner(name)
        # What is read of inputs is put first, and stays.
        added = []
        while self.statements and self.statements[-1] is not last:
            added.append(self.statements.pop())
        self.statements += [statement for statement in reversed(added) if statement.is_setting]
        del self.ties[ties:]

    def _forget_owner(self, attribute: str) -> None:
        for value, owner in list(self._owners.items()):
            if owner.partition(".")[0] == attribute:
                del self._owners[value]
                self._bound.pop(value, None)

    def new_number(self, value: Value | None = None) -> int:
        """Return a number for a value; without one, for what a function computes on the way."""
        self._count += 1
        if value is not None:
            self.values[self._count] = value
        return self._count

    @contextmanager
    def block(self) -> Iterator[list[Statement]]:
        """Gather the statements of a block. The sizes of what is computed in it are unknown behind it."""
        around, symbols = self.statements, dict(self._symbols)
        self.statements = []
        try:
            yield self.statements
        finally:
            self.statements, self._symbols = around, symbols

    def number(self, value: Value) -> int:
        """Return the number of a value of the graph."""
        result = self._numbers.get(value)
        if result is None:
            result = self._numbers[value] = self.new_number(value)
        return result

    def share_number(self, value: Value, other: Value) -> None:
        """Have what gives a value assign another one, which is the same."""
        self._numbers.setdefault(value, self.number(other))

    def bind(self, value: Value, text: Expr) -> None:
        """Have an expression stand for a value wherever it is read."""
        self._bound[value] = text

    def reference(self, value: Value) -> Expr:
        """Return a value as a tensor."""
        bound = self._bound.get(value)
        if bound is not None:
            return bound
        if value.tensor is not None and value.producer is None:
            return self.store(value)
        if value.producer is None and value in value.graph.parameters:
            raise Refusal(f"the parameter {value.name} has no elements")
        if isinstance(value.type, TensorType) and value.dtype is not None and value.dtype not in DTYPES:
            raise Refusal(f"{value.name} is {value.type}, a type that PyTorch has no tensors of")
        result = self._bound[value] = ValueReference(self.number(value))
        return result

    def layer(self, node: Node, constructor: str, weights: Weights) -> Expr:
        """Return the layer of a node, by its attribute. A layer that has all of it already is that of this node too;
        what another layer has is tied to it."""
        tensors = {name: tensor for name, (tensor, _) in weights.items()}
        sources = [value for _, value in weights.values()]
        same = (constructor, *weights, *sources)
        former = self.layers.get(self._made.get(same, ""))
        if former is not None and _are_equal(former.tensors, tensors) and not all(map(_is_plain, sources)):
            return Expr(f"self.{former.attribute}")
        name = layer_name(node)
        attribute = self.attributes.take(self._layer_names.get(name, name), node.op.name.lower())
        self.layers[attribute] = Submodule(attribute, constructor, tensors)
        self._made[same] = attribute
        for name, (tensor, value) in weights.items():
            key = f"{attribute}.{name}"
            self.sources[key] = value.name
            is_owned = tensor is value.tensor
            if is_owned and (other := self._owners.setdefault(value, key)) is not key and not _is_plain(value):
                self.ties.append(f"self.{key} = self.{other}")
        return Expr(f"self.{attribute}")

    def store(self, value: Value) -> Expr:
        """Return the attribute of a parameter of the graph: floats are parameters, others are buffers."""
        assert value.tensor is not None
        if value not in self._owners:
            key = self.store_tensor(value.name, value.tensor).removeprefix("self.")
            self._owners[value], self.sources[key] = key, value.name
        result = self._bound[value] = Expr(f"self.{self._owners[value]}")
        return result

    def store_tensor(self, name: str, tensor: Tensor, *, is_buffer: bool | None = None) -> str:
        """Return a parameter or buffer of the module itself, by the text that reads it."""
        if tensor.dtype not in DTYPES:
            raise Refusal(f"{name} is {tensor.type}, a type that PyTorch has no tensors of")
        attribute = self.attributes.take(self._short.get(name, name), "constant")
        is_buffer = not (tensor.dtype.is_float and tensor.shape) if is_buffer is None else is_buffer
        if is_buffer and tensor.size <= SHORT_CONSTANT and 0 not in tensor.shape:
            statement = f'self.register_buffer("{attribute}", {literal(tensor)}, persistent=False)'
            self.stored[attribute] = Stored(attribute, statement, None, is_buffer)
            return f"self.{attribute}"
        if tensor.dtype not in NAMES:
            raise Refusal(f"{name} is {tensor.type}, a type that safetensors has no name for")
        dtype = None if tensor.dtype is DType.FLOAT32 else dtype_text(tensor.dtype)
        empty = call("torch.empty", *(map(str, tensor.shape) if tensor.shape else ["()"]), dtype=dtype)
        if is_buffer:
            statement = f'self.register_buffer("{attribute}", {empty})'
        else:
            statement = f"self.{attribute} = nn.Parameter({empty})"
        self.stored[attribute] = Stored(attribute, statement, tensor, is_buffer)
        return f"self.{attribute}"

    def find_symbols(self, value: Value) -> None:
        """Learn which sizes a value shows that none before it did: those of inputs are read when the module begins."""
        if not isinstance(value.type, TensorType) or value.type.is_static:
            return
        for axis, dim in enumerate(value.shape or ()):
            if isinstance(dim, Sym) and dim.terms == (((dim.text,), 1),) and dim.text not in self._symbols:
                text = Expr(f"{ValueReference(self.number(value)).atom}.shape[{axis}]")
                if value.producer is None and value.graph is self.graph:
                    number = self.new_number()
                    self.statements.append(Statement((number,), text, names=(dim.text.lower(),), is_setting=True))
                    text = ValueReference(number)
                self._symbols[dim.text] = text

    def size(self, dim: Dim) -> Expr | None:
        """Return a size as a Python integer, None where it follows from no size of a value so far."""
        if isinstance(dim, int):
            return size_text(dim, str)
        if not isinstance(dim, Sym) or not symbols_of(dim) <= self._symbols.keys():
            return None
        return size_text(dim, self._symbols.__getitem__)

    def device(self) -> Expr:
        """Return the device of the inputs."""
        if self._device is None:
            self._device = self.new_number()
            first = next((value for value in self.graph.inputs if isinstance(value.type, TensorType)), None)
            text = 'torch.device("cpu")' if first is None else f"{ValueReference(self.number(first)).atom}.device"
            self._outermost.insert(0, Statement((self._device,), text, names=("device",), is_setting=True))
        return ValueReference(self._device)

    def decide(self, kind: DecisionKind, node: str, text: str) -> None:
        """Record a decision."""
        decision = Decision(kind, node, text)
        if decision not in self.decisions:
            self.decisions.append(decision)


def _are_equal(tensors: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> bool:
    return all(tensor is others[name] or tensor.sha256() == others[name].sha256() for name, tensor in tensors.items())


def _is_plain(value: Value) -> bool:
    """Return whether all elements are the same number, as in the scale of a normalization that has none: that was not
    learned, and layers that have it share nothing."""
    tensor = value.tensor
    if tensor is None or tensor.size > MOST_PLAIN:
        return False
    elements = tensor.numpy().reshape(-1)
    return bool((elements == elements[:1]).all())


def dtype_text(dtype: DType | None) -> str:
    """`torch.float32`. Raises Refusal for a type that PyTorch has no tensors of."""
    if dtype not in DTYPES:
        raise Refusal(f"PyTorch has no tensors of {dtype}")
    return f"torch.{DTYPES[dtype]}"


def number_text(value: object, dtype: DType) -> Expr:
    """Return a number as Python writes it: of floats the shortest text that is the same number in their type and in
    float32, in which PyTorch computes with those that are narrower."""
    if isinstance(value, BOOLS):
        return Expr(str(bool(value)))
    if isinstance(value, WHOLE):
        return Expr(str(int(value))) if value >= 0 else unary("-", str(-int(value)))
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        return expr("math.nan" if math.isnan(number) else "math.inf") if not number < 0 else unary("-", "math.inf")
    text = _magnitude(abs(number), dtype)
    return unary("-", text) if math.copysign(1.0, number) < 0 else text


@lru_cache(256)
def _magnitude(number: float, dtype: DType) -> Expr:
    """Return the text of a number that is not below 0."""
    is_wide = dtype is DType.FLOAT64 or number >= FLOAT32_OVERFLOW
    text = repr(number) if is_wide else repr(float(str(np.float32(number))))
    if float(text) > number >= LARGEST.get(dtype, math.inf):
        text = repr(number)
    return Expr(text.replace("e+", "e"))


def literal(tensor: Tensor) -> str:
    """Return a small tensor as `torch.tensor` makes it."""
    array = tensor.numpy()
    wide = array.astype(np.float64) if tensor.dtype.is_float else array

    def nested(part: object) -> str:
        if isinstance(part, list):
            return f"[{', '.join(map(nested, part))}]"
        return number_text(part, tensor.dtype)

    usual = tensor.dtype in (DType.FLOAT32, DType.INT64, DType.BOOL)
    return call("torch.tensor", nested(wide.tolist()), dtype=None if usual else dtype_text(tensor.dtype))
