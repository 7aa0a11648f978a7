"""Recurrent cells: what all share, sequences step by step, and the three kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx import ndarray, symbol
from graphir.converters.mxnet.mx.gluon.block import Block
from graphir.converters.mxnet.mx.gluon.hybrid_block import REQUIRED, ArgumentBlock, HybridBlock
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict
from graphir.converters.mxnet.mx.gluon.rnn.layers import INITIALIZERS, shapes_of_products
from graphir.converters.mxnet.mx.ndarray import NDArray


def is_whole(given: Any) -> bool:
    """Return whether a sequence is one array or symbol, not a list of steps."""
    return isinstance(given, NDArray | symbol.Symbol)


def as_sequence(
    length: int | None, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Any, int, Any, int]:
    """Return a sequence whole (`merge`), as steps, or (None) as it is; the axis of time, `mx.nd` or `mx.sym`, the batch
    size.

    The batch size of symbols is 0, which is open. Raises AssertionError for another number of steps than `length`.
    """
    axis, batch_axis = layout.find("T"), layout.find("N")
    in_axis = axis if in_layout is None else in_layout.find("T")
    first = inputs if is_whole(inputs) else inputs[0]
    F: Any = symbol if isinstance(first, symbol.Symbol) else ndarray
    batch = 0 if F is symbol else first.shape[batch_axis if is_whole(inputs) else 0]
    if is_whole(inputs) and merge is False:
        if F is symbol and len(inputs) != 1:
            raise AssertionError("unroll takes a symbol of one output or a list of steps, found several outputs")
        steps = length if F is symbol else inputs.shape[in_axis]
        if length not in (None, steps):
            raise AssertionError(f"the sequence has {steps} steps, {length} are to be unrolled")
        parts = F.split(inputs, axis=in_axis, num_outputs=steps, squeeze_axis=1)
        inputs = [parts] if isinstance(parts, NDArray) else list(parts)
    elif not is_whole(inputs):
        if length not in (None, len(inputs)):
            raise AssertionError(f"the sequence has {len(inputs)} steps, {length} are to be unrolled")
        if merge:
            inputs, in_axis = F.stack(*inputs, axis=axis), axis
    if is_whole(inputs) and axis != in_axis:
        inputs = F.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis, F, batch


def begun(cell: Any, F: Any, begin_state: Any, batch: int) -> Any:
    """Return the states before the first step: those given, or zeros."""
    return cell.begin_state(batch_size=batch, func=F.zeros) if begin_state is None else begin_state


def masked(F: Any, outputs: Any, length: int, valid_length: Any, axis: int, merge: bool) -> Any:
    """Return a sequence with zeros behind the valid steps of each sample."""
    whole = outputs if is_whole(outputs) else F.stack(*outputs, axis=axis)
    result = F.SequenceMask(whole, sequence_length=valid_length, use_sequence_length=True, axis=axis)
    return result if merge else list(F.split(result, num_outputs=length, axis=axis, squeeze_axis=True))


class RecurrentCell(Block):
    """One step of a recurrence: called with an input and a list of states it gives the output and the new states."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Begin to number the steps anew."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info")

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """States before the first step, made by `func`. Raises AssertionError for a cell within a modifier."""
        self._check_free()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **(info | kwargs)))
        return states

    def _check_free(self) -> None:
        if self._modified:
            raise AssertionError("this cell is wrapped in another (zoneout, dropout, residual): call that one")

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """Return the outputs of `length` steps and the last states.

        `inputs` is a list of steps, or whole in the `layout`; outputs are whole if `merge_outputs`, a list otherwise.
        Behind the `valid_length` of a sample outputs are 0, and its states are those of the last valid step.
        """
        self.reset()
        return self._unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)  # type: ignore[no-any-return]

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any, valid_length: Any) -> Any:
        steps, axis, F, batch = as_sequence(length, inputs, layout, False)
        states = begun(self, F, begin_state, batch)
        outputs = []
        passed = []
        for place in range(length):
            output, states = self(steps[place], states)
            outputs.append(output)
            passed.append(states)
        if valid_length is not None:
            states = [
                F.SequenceLast(
                    F.stack(*column, axis=0), sequence_length=valid_length, use_sequence_length=True, axis=0
                )
                for column in zip(*passed, strict=True)
            ]
            outputs = masked(F, outputs, length, valid_length, axis, True)
        return as_sequence(length, outputs, layout, merge)[0], states

    def forward(self, inputs: Any, states: Any) -> Any:
        """Return one step."""
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A cell that computes arrays and composes symbols by the same code."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        HybridBlock.__init__(self, prefix, params)
        self._modified = False
        self.reset()

    def hybrid_forward(self, F: Any, *args: Any, **kwargs: Any) -> Any:
        """Return one step; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define hybrid_forward")

    def _call_graph(self, args: Sequence[Any]) -> Any:
        """Return one step, by the graph of a step, whose names bear the first number."""
        if self._cached_graph is None:
            self._counter = 0
        return super()._call_graph(args)


KINDS = ("tanh", "relu", "sigmoid", "softsign")


ARGUMENTS = {"hidden_size": REQUIRED, **INITIALIZERS, "input_size": 0}


class _Cell(ArgumentBlock, HybridRecurrentCell):
    """A cell with one product for its input and one for its state."""

    GATES = 1
    STATES = 1
    ARGUMENTS = ARGUMENTS
    i2h_weight: Any

    def _build(self, arguments: SimpleNamespace) -> None:
        self._hidden_size, self._input_size = arguments.hidden_size, arguments.input_size
        self._activation = getattr(arguments, "activation", None)
        rows = self.GATES * self._hidden_size
        self._add(arguments, shapes_of_products(rows, (self._input_size,), (self._hidden_size,)))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(self.STATES)]

    def _products(self, F: Any, inputs: Any, state: Any, params: dict[str, Any], prefix: str) -> tuple[Any, Any]:
        rows = self.GATES * self._hidden_size
        i2h = F.FullyConnected(
            data=inputs, weight=params["i2h_weight"], bias=params["i2h_bias"], num_hidden=rows, name=prefix + "i2h"
        )
        h2h = F.FullyConnected(
            data=state, weight=params["h2h_weight"], bias=params["h2h_bias"], num_hidden=rows, name=prefix + "h2h"
        )
        return i2h, h2h

    def __repr__(self) -> str:
        shape = self.i2h_weight.shape
        kind = self._activation if self.GATES == 1 else None
        return f"{type(self).__name__}({shape[1] or None} -> {shape[0]}{f', {kind}' if kind else ''})"


def _activated(F: Any, x: Any, kind: Any, name: str | None) -> Any:
    """Return an activation by the function of its name where MXNet composes that; a block or function is called."""
    if callable(kind):
        return kind(x)
    return getattr(F, kind)(x, name=name) if kind in KINDS else F.Activation(x, act_type=kind, name=name)


class RNNCell(_Cell):
    """Elman's cell: activation(W x + b + R h + c)."""

    _ALIAS = "rnn"
    ARGUMENTS = {"hidden_size": REQUIRED, "activation": "tanh", **ARGUMENTS}

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], params, prefix)
        total = F.elemwise_add(i2h, h2h, name=prefix + "plus0")
        output = _activated(F, total, self._activation, prefix + "out")
        return output, [output]


class LSTMCell(_Cell):
    """Long short-term memory; its gates stand in the order input, forget, cell, output."""

    _ALIAS = "lstm"
    GATES, STATES = 4, 2

    ARGUMENTS = {**ARGUMENTS, "prefix": None, "params": None, "activation": "tanh", "recurrent_activation": "sigmoid"}

    def _build(self, arguments: SimpleNamespace) -> None:
        super()._build(arguments)
        self._recurrent_activation = arguments.recurrent_activation

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], params, prefix)
        gates = F.elemwise_add(i2h, h2h, name=prefix + "plus0")
        parts = F.SliceChannel(gates, num_outputs=4, name=prefix + "slice")
        let_in = _activated(F, parts[0], self._recurrent_activation, prefix + "i")
        forget = _activated(F, parts[1], self._recurrent_activation, prefix + "f")
        change = _activated(F, parts[2], self._activation, prefix + "c")
        let_out = _activated(F, parts[3], self._recurrent_activation, prefix + "o")
        kept = F.elemwise_mul(forget, states[1], name=prefix + "mul0")
        new = F.elemwise_mul(let_in, change, name=prefix + "mul1")
        state = F.elemwise_add(kept, new, name=prefix + "state")
        shown = F.Activation(state, act_type=self._activation, name=prefix + "activation0")
        output = F.elemwise_mul(let_out, shown, name=prefix + "out")
        return output, [output, state]


class GRUCell(_Cell):
    """A gated recurrent unit, in cuDNN's form; its gates stand in the order reset, update, new."""

    _ALIAS = "gru"
    GATES = 3

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        prefix = f"t{self._counter}_"
        state = states[0]
        i2h, h2h = self._products(F, inputs, state, params, prefix)
        x = F.SliceChannel(i2h, num_outputs=3, name=prefix + "i2h_slice")
        h = F.SliceChannel(h2h, num_outputs=3, name=prefix + "h2h_slice")
        reset = F.Activation(
            F.elemwise_add(x[0], h[0], name=prefix + "plus0"), act_type="sigmoid", name=prefix + "r_act"
        )
        update = F.Activation(
            F.elemwise_add(x[1], h[1], name=prefix + "plus1"), act_type="sigmoid", name=prefix + "z_act"
        )
        past = F.elemwise_mul(reset, h[2], name=prefix + "mul0")
        new = F.Activation(
            F.elemwise_add(x[2], past, name=prefix + "plus2"), act_type="tanh", name=prefix + "h_act"
        )
        rest = F.elemwise_sub(
            F.ones_like(update, name=prefix + "ones_like0"), update, name=prefix + "minus0"
        )
        output = F.elemwise_add(
            F.elemwise_mul(rest, new, name=prefix + "mul1"),
            F.elemwise_mul(update, state, name=prefix + "mul20"),
            name=prefix + "out",
        )
        return output, [output]

__all__ = ["GRUCell", "HybridRecurrentCell", "LSTMCell", "RNNCell", "RecurrentCell"]
