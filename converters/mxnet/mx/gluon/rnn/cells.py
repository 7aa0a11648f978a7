"""The three kinds of recurrent cells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx.gluon.layer import REQUIRED, Layer
from graphir.converters.mxnet.mx.gluon.rnn.layers import INITIALIZERS
from graphir.converters.mxnet.mx.gluon.rnn.unrolling import HybridRecurrentCell

KINDS = ("tanh", "relu", "sigmoid", "softsign")


ARGUMENTS = {"hidden_size": REQUIRED, **INITIALIZERS, "input_size": 0}


class _Cell(Layer, HybridRecurrentCell):
    """A cell with one product for its input and one for its state."""

    GATES = 1
    STATES = 1
    ARGUMENTS = ARGUMENTS
    i2h_weight: Any

    def _build(self, arguments: SimpleNamespace) -> None:
        self._hidden_size, self._input_size = arguments.hidden_size, arguments.input_size
        self._activation = getattr(arguments, "activation", None)
        rows = self.GATES * self._hidden_size
        shapes = {
            "i2h_weight": (rows, self._input_size),
            "h2h_weight": (rows, self._hidden_size),
            "i2h_bias": (rows,),
            "h2h_bias": (rows,),
        }
        for name, shape in shapes.items():
            init = getattr(arguments, f"{name}_initializer")
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(self.STATES)]

    def _products(self, F: Any, inputs: Any, state: Any, held: dict[str, Any], prefix: str) -> tuple[Any, Any]:
        rows = self.GATES * self._hidden_size
        i2h = F.FullyConnected(
            data=inputs, weight=held["i2h_weight"], bias=held["i2h_bias"], num_hidden=rows, name=prefix + "i2h"
        )
        h2h = F.FullyConnected(
            data=state, weight=held["h2h_weight"], bias=held["h2h_bias"], num_hidden=rows, name=prefix + "h2h"
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

    ARGUMENTS = {"hidden_size": REQUIRED, "activation": "tanh", **ARGUMENTS}

    def _alias(self) -> str:
        return "rnn"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **held: Any) -> Any:
        """Return one step."""
        prefix = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], held, prefix)
        total = F.elemwise_add(i2h, h2h, name=prefix + "plus0")
        output = _activated(F, total, self._activation, prefix + "out")
        return output, [output]


class LSTMCell(_Cell):
    """Long short-term memory; its gates stand in the order input, forget, cell, output."""

    GATES, STATES = 4, 2

    ARGUMENTS = {**ARGUMENTS, "prefix": None, "params": None, "activation": "tanh", "recurrent_activation": "sigmoid"}

    def _build(self, arguments: SimpleNamespace) -> None:
        super()._build(arguments)
        self._recurrent_activation = arguments.recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **held: Any) -> Any:
        """Return one step."""
        prefix = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], held, prefix)
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

    GATES = 3

    def _alias(self) -> str:
        return "gru"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **held: Any) -> Any:
        """Return one step."""
        prefix = f"t{self._counter}_"
        state = states[0]
        i2h, h2h = self._products(F, inputs, state, held, prefix)
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


__all__ = ["GRUCell", "LSTMCell", "RNNCell"]
