"""Recurrent layers as loops over their steps, for targets that have no such layer: the reverse of `recurrent_loops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphir.errors import GraphirError
from graphir.graph import Graph, Node, Value
from graphir.ops import activation as act
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.control import Loop, Scan
from graphir.ops.creation import ConstantOfShape
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.recurrent import GRU, LSTM, RNN, Direction
from graphir.ops.shape import Shape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat, Slice, Split
from graphir.passes.inline import GraphNames, InlinedGraph, take_place
from graphir.types import DType, TensorType, Type

DEFAULTS = {RNN: ("Tanh",), GRU: ("Sigmoid", "Tanh"), LSTM: ("Sigmoid", "Tanh", "Tanh")}
# Functions with a first, or a first and a second number, and ONNX's defaults for them.
NUMBERS = {
    "leakyrelu": (0.01,), "thresholdedrelu": (1.0,), "elu": (1.0,), "hardsigmoid": (0.2, 0.5), "affine": (1.0, 0.0),
    "scaledtanh": (1.0, 1.0),
}  # fmt: skip
PLAIN: dict[str, type[Operator]] = {
    "tanh": act.Tanh, "sigmoid": act.Sigmoid, "relu": act.Relu, "softsign": act.Softsign, "softplus": act.Softplus,
}  # fmt: skip
FAR = -(2**31) + 1
Make = Callable[[Value], Value]


def write_as_loop(graph: Graph, node: Node, names: GraphNames) -> list[Node]:
    """Put a Loop for each direction, and what prepares its weights, in the place of an RNN, GRU or LSTM.

    It is a Scan where the number of steps is open. Returns the new nodes.

    The last state of a sequence without elements is 0, as onnxruntime has it. Raises GraphirError, with nothing
    changed, where the size of the state is not known in numbers, or there are lengths of an open number of steps.
    """
    op = node.op
    assert isinstance(op, RNN | GRU | LSTM)
    data, recurrent = node.inputs[0], node.inputs[2]
    assert data is not None
    assert recurrent is not None
    steps = data.shape[0] if data.shape is not None and isinstance(data.shape[0], int) else None
    hidden = op.hidden_size or (None if recurrent.shape is None else recurrent.shape[2])
    if data.rank != 3 or not isinstance(hidden, int) or data.dtype is None or not data.dtype.is_float:
        raise GraphirError(f"the sizes of {data.name} {data.type} are not known")
    maker = InlinedGraph(graph, graph, names, node.name)
    try:
        ways = [_Way(maker, node, way, steps, hidden) for way in range(op.direction.count)]
        wanted = [ways[0].joined(slot, ways) for slot in range(len(node.outputs))]
        take_place(graph, node, wanted, maker.new_nodes)
    except GraphirError:
        maker.take_back()
        raise
    return [node for node in maker.new_nodes if node.graph is graph]


class _Way:
    """One direction. `results` are its rows (T, N, H), last state and, of an LSTM, last cell (N, H)."""

    def __init__(self, maker: InlinedGraph, node: Node, way: int, steps: int | None, hidden: int) -> None:
        assert isinstance(node.op, RNN | GRU | LSTM)
        self.maker, self.node, self.op = maker, node, node.op
        self.way, self.hidden = way, hidden
        self.functions = self._functions()
        self.data = self._operand(0)
        dtype = self.data.dtype
        assert dtype is not None
        self.dtype = dtype
        self.is_reverse = self.op.direction is Direction.REVERSE or way == 1
        self.ends = self._ends(steps)
        if self.ends is not None and steps is None:
            raise GraphirError(f"it has sequence_lens, and the number of steps of {self.data.name} is open")
        self.weight, self.recurrent = (self.outer(Transpose((1, 0)), self._direction_part(slot)) for slot in (1, 2))
        rows = hidden * self.op.gates
        biases = None if self.node.operand(3) is None else self._direction_part(3)
        self.biases = [None, None] if biases is None else self._cut(biases, 2, rows)
        peepholes = None if self.node.operand(7) is None else self._direction_part(7)
        self.peepholes = [None] * 3 if peepholes is None else self._cut(peepholes, 3, hidden)
        starts = [self._start(slot) for slot in ((5, 6) if isinstance(self.op, LSTM) else (5,))]
        self.body = Graph(f"{node.name}_steps", parent=maker.target)
        *lasts, stacked = self._scan(starts) if steps is None else self._loop(starts, steps)
        self.results = [stacked, *map(self._mask_last, lasts)]

    def _loop(self, starts: Sequence[Value], steps: int) -> Sequence[Value]:
        """Return all steps, whose number is known, as a Loop: the last states and the rows."""
        if self.is_reverse:
            self.data = self._reverse_rows(self.data)
        number = self._input("step", TensorType(DType.INT64, ()))
        running = self._input("running", TensorType(DType.BOOL, ()))
        states = [self._input("state", start.type) for start in starts]
        after = self._step(self.inner(Gather(0), self.data, number), states)
        row = self.inner(ew.Identity(), after[0])
        if self.ends is not None:
            index = number if not self.is_reverse else self.inner(ew.Sub(), self._integer(steps - 1), number)
            inside = self.inner(ew.Less(), index, self.ends)
            row = self.inner(ew.Where(), inside, after[0], self._number(0.0))
            after = [self.inner(ew.Where(), inside, *pair) for pair in zip(after, states, strict=True)]
        self.body.set_outputs([self.inner(ew.Identity(), running), *after, row])
        *lasts, rows = self._build_loop(Loop(len(starts) + 1), [self._integer(steps), None, *starts])
        return [*lasts, self._reverse_rows(rows) if self.is_reverse else rows]

    def _scan(self, starts: Sequence[Value]) -> Sequence[Value]:
        """As many steps as the data have, as a Scan: the last states and the rows."""
        states = [self._input("state", start.type) for start in starts]
        shape = None if self.data.shape is None else self.data.shape[1:]
        after = self._step(self._input("data", TensorType(self.dtype, shape)), states)
        self.body.set_outputs([*after, self.inner(ew.Identity(), after[0])])
        way = (int(self.is_reverse),)
        op = Scan(1, len(starts) + 1, scan_input_directions=way, scan_output_directions=way)
        return self._build_loop(op, [*starts, self.data])

    def _build_loop(self, op: Loop | Scan, operands: Sequence[Value | None]) -> Sequence[Value]:
        """Return the results of the node whose body the steps are."""
        names = [self.maker.names.fresh(f"{self.maker.prefix}_way{self.way}") for _ in range(op.output_count)]
        loop = self.maker.target.add_node(
            op, operands, name=names[0], output_names=names, before=self.node, subgraphs=[self.body]
        )
        self.maker.new_nodes.append(loop)
        self.maker.names.ancestors[loop] = self.node
        return loop.outputs

    def outer(self, op: Operator, *values: Value) -> Value:
        """Return a node before the layer's."""
        return self.maker.add(op, values, self.node, f"way{self.way}").output

    def joined(self, slot: int, ways: Sequence[_Way]) -> Value:
        """Return a result of the layer: those of all directions, beside each other on an axis of their own."""
        axis = 0 if slot else 1
        parts = [self.outer(Unsqueeze(), way.results[slot], self.integers(axis)) for way in ways]
        return parts[0] if len(parts) == 1 else self.outer(Concat(axis), *parts)

    def inner(self, op: Operator, *values: Value) -> Value:
        """Return a node of the body."""
        name = self.maker.names.fresh(f"{self.maker.prefix}_way{self.way}_step")
        return self.body.add(op, *values, name=name, output=name)

    def integers(self, *numbers: int) -> Value:
        """Return a vector of int64."""
        return self.maker.target.constant(list(numbers), DType.INT64)

    def _integer(self, number: int) -> Value:
        return self.maker.target.constant(number, DType.INT64)

    def _number(self, number: float) -> Value:
        return self.maker.target.constant(number, self.dtype)

    def _input(self, suffix: str, type_: Type) -> Value:
        return self.body.add_input(self.maker.names.fresh(f"{self.maker.prefix}_way{self.way}_{suffix}"), type_)

    def _operand(self, slot: int) -> Value:
        value = self.node.operand(slot)
        assert value is not None
        return value

    def _direction_part(self, slot: int) -> Value:
        """This direction's part of an operand, without the axis of directions."""
        value = self._operand(slot)
        if self.op.direction.count > 1:
            way = (self.integers(self.way), self.integers(self.way + 1), self.integers(0))
            value = self.outer(Slice(), value, *way)
        return self.outer(Squeeze(), value, self.integers(0))

    def _cut(self, value: Value, count: int, size: int) -> list[Value]:
        """Parts of a vector."""
        bounds = [(index * size, (index + 1) * size) for index in range(count)]
        return [self.outer(Slice(), value, self.integers(low), self.integers(high)) for low, high in bounds]

    def _reverse_rows(self, value: Value) -> Value:
        return self.outer(
            Slice(), value, self.integers(-1), self.integers(FAR), self.integers(0), self.integers(-1)
        )

    def _start(self, slot: int) -> Value:
        """Return the first state (N, H)."""
        if self.node.operand(slot) is not None:
            return self._direction_part(slot)
        batch = self.outer(Shape(1, 2), self.data)
        shape = self.outer(Concat(0), batch, self.integers(self.hidden))
        return self.outer(ConstantOfShape(0.0, self.dtype), shape)

    def _ends(self, steps: int | None) -> Value | None:
        """Return how many steps each sequence has, (N, 1) of int64; None if all have all of them."""
        lengths = self.node.operand(4)
        if lengths is None or (lengths.tensor is not None and bool((lengths.tensor.numpy() == steps).all())):
            return None
        return self.outer(Unsqueeze(), self.outer(ew.Cast(DType.INT64), lengths), self.integers(1))

    def _mask_last(self, last: Value) -> Value:
        """Return a last state (N, H), 0 for sequences without elements."""
        lengths = self.node.operand(4)
        assert lengths is not None or self.ends is None
        if self.ends is None or (lengths is not None and all_positive(lengths)):
            return last
        begun = self.outer(ew.Less(), self._integer(0), self.ends)
        return self.outer(ew.Where(), begun, last, self._number(0.0))

    def _step(self, x: Value, states: Sequence[Value]) -> list[Value]:
        """Return the states behind a step."""
        if isinstance(self.op, LSTM):
            return self._lstm(x, *states)
        if isinstance(self.op, GRU):
            return [self._gru(x, *states)]
        total = self._sum(self._input_part(x), self._own_part(states[0]))
        return [self.functions[0](self._clip(total))]

    def _input_part(self, x: Value) -> Value:
        """x W + the input's biases."""
        return self._add_bias(self.inner(MatMul(), x, self.weight), self.biases[0])

    def _own_part(self, h: Value) -> Value:
        """h R + the state's biases."""
        return self._add_bias(self.inner(MatMul(), h, self.recurrent), self.biases[1])

    def _add_bias(self, value: Value, bias: Value | None) -> Value:
        return value if bias is None else self._sum(value, bias)

    def _sum(self, left: Value, right: Value) -> Value:
        return self.inner(ew.Add(), left, right)

    def _product(self, left: Value, right: Value) -> Value:
        return self.inner(ew.Mul(), left, right)

    def _clip(self, value: Value) -> Value:
        bound = self.op.clip
        return value if bound is None else self.inner(ew.Clip(), value, self._number(-bound), self._number(bound))

    def _parts(self, value: Value, count: int) -> list[Value]:
        """Equal parts of a matrix."""
        names = [self.maker.names.fresh(f"{self.maker.prefix}_way{self.way}_gate") for _ in range(count)]
        sizes = self.integers(*[self.hidden] * count)
        return list(self.body.add_node(Split(count, 1), [value, sizes], name=names[0], output_names=names).outputs)

    def _rest(self, value: Value) -> Value:
        return self.inner(ew.Sub(), self._number(1.0), value)

    def _add_peephole(self, value: Value, cell: Value, index: int) -> Value:
        weight = self.peepholes[index]
        return value if weight is None else self._sum(value, self._product(cell, weight))

    def _lstm(self, x: Value, h: Value, c: Value) -> list[Value]:
        """Gates in the order input, output, forget, cell."""
        assert isinstance(self.op, LSTM)
        gate, squash, shape = self.functions
        first, out, forget, new = self._parts(self._sum(self._input_part(x), self._own_part(h)), 4)
        i = gate(self._clip(self._add_peephole(first, c, 0)))
        f = self._rest(i) if self.op.input_forget else gate(self._clip(self._add_peephole(forget, c, 2)))
        cell = self._sum(self._product(f, c), self._product(i, squash(self._clip(new))))
        o = gate(self._clip(self._add_peephole(out, cell, 1)))
        return [self._product(o, shape(cell)), cell]

    def _gru(self, x: Value, h: Value) -> Value:
        """Gates in the order update, reset, hidden."""
        assert isinstance(self.op, GRU)
        gate, squash = self.functions
        update, reset, new = self._parts(self._input_part(x), 3)
        if self.op.linear_before_reset:
            own_update, own_reset, own_new = self._parts(self._own_part(h), 3)
            z, r = (gate(self._clip(self._sum(*pair))) for pair in ((update, own_update), (reset, own_reset)))
            inner = self._product(r, own_new)
        else:
            weights, biases = self._gate_columns(), self._gate_biases()
            z, r = (
                gate(self._clip(self._sum(given, self._add_bias(self.inner(MatMul(), h, weight), bias))))
                for given, weight, bias in zip((update, reset), weights, biases, strict=False)
            )
            inner = self._add_bias(self.inner(MatMul(), self._product(r, h), weights[2]), biases[2])
        fresh = squash(self._clip(self._sum(new, inner)))
        return self._sum(self._product(self._rest(z), fresh), self._product(z, h))

    def _gate_columns(self) -> list[Value]:
        """Return the recurrent weights of each gate."""
        size = self.hidden
        bounds = [(index * size, (index + 1) * size) for index in range(3)]
        axis = self.integers(1)
        return [
            self.outer(Slice(), self.recurrent, self.integers(low), self.integers(high), axis) for low, high in bounds
        ]

    def _gate_biases(self) -> Sequence[Value | None]:
        bias = self.biases[1]
        return [None] * 3 if bias is None else self._cut(bias, 3, self.hidden)

    def _functions(self) -> list[Make]:
        """Return the functions of this direction; numbers are stated for those functions that have one, in order."""
        op = self.op
        names = [name.lower() for name in op.activations] or [
            name.lower() for name in DEFAULTS[type(op)] * op.direction.count
        ]
        alphas, betas = list(op.activation_alpha), list(op.activation_beta)
        functions: list[Make] = []
        for name in names:
            stated = list(NUMBERS.get(name, ()))
            for index, given in enumerate((alphas, betas)[: len(stated)]):
                stated[index] = given.pop(0) if given else stated[index]
            functions.append(self._function(name, *stated))
        count = len(functions) // op.direction.count
        return functions[self.way * count : (self.way + 1) * count]

    def _function(self, name: str, alpha: float = 1.0, beta: float = 0.0) -> Make:
        if name in PLAIN:
            return lambda value: self.inner(PLAIN[name](), value)
        match name:
            case "leakyrelu" | "elu" | "thresholdedrelu":
                kind = {"leakyrelu": act.LeakyRelu, "elu": act.Elu, "thresholdedrelu": act.ThresholdedRelu}[name]
                return lambda value: self.inner(kind(alpha), value)
            case "hardsigmoid":
                return lambda value: self.inner(act.HardSigmoid(alpha, beta), value)
            case "affine":
                return lambda value: self._affine(value, alpha, beta)
            case "scaledtanh":
                return lambda value: self._affine(self.inner(act.Tanh(), self._affine(value, beta, 0.0)), alpha, 0.0)
        raise GraphirError(f"activation {name} is none of ONNX's")

    def _affine(self, value: Value, scale: float, shift: float) -> Value:
        value = value if scale == 1 else self._product(value, self._number(scale))
        return value if shift == 0 else self._sum(value, self._number(shift))


def all_positive(lengths: Value) -> bool:
    """Return whether all sequences are known to have an element."""
    return lengths.tensor is not None and bool((lengths.tensor.numpy() > 0).all())
