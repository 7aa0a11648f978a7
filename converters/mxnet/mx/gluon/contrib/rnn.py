"""`mx.gluon.contrib.rnn`: cells whose products are convolutions, LSTM with a projection, one dropout for all steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from graphir.converters.mxnet.mx.gluon.hybrid_block import REQUIRED, ArgumentBlock
from graphir.converters.mxnet.mx.gluon.nn.conv_layers import LAYOUTS, over_axes
from graphir.converters.mxnet.mx.gluon.rnn.cells import (
    HybridRecurrentCell,
    _activated,
    _Cell,
    as_sequence,
    begun,
    is_whole,
    masked,
)
from graphir.converters.mxnet.mx.gluon.rnn.layers import INITIALIZERS, shapes_of_products
from graphir.converters.mxnet.mx.gluon.rnn.modifiers import BidirectionalCell, ModifierCell


def _arguments(axes: int) -> dict[str, Any]:
    one, zero = (1,) * axes, (0,) * axes
    return {
        **dict.fromkeys(("input_shape", "hidden_channels", "i2h_kernel", "h2h_kernel"), REQUIRED),
        "i2h_pad": zero, "i2h_dilate": one, "h2h_dilate": one, **INITIALIZERS, "conv_layout": LAYOUTS[axes],
        "activation": "tanh",
    }  # fmt: skip


class _ConvCell(ArgumentBlock, HybridRecurrentCell):
    """A cell with a convolution of its input and one of its state."""

    GATES: ClassVar[int] = 1
    STATES: ClassVar[int] = 1
    i2h_weight: Any

    def _build(self, arguments: SimpleNamespace) -> None:
        layout, hidden = arguments.conv_layout, arguments.hidden_channels
        self._conv_layout, self._hidden_channels, self._activation = layout, hidden, arguments.activation
        axes, self._channel_axis = len(layout) - 2, layout.find("C")
        sizes = {}
        for name in ("i2h_kernel", "h2h_kernel", "i2h_pad", "i2h_dilate", "h2h_dilate"):
            stated = getattr(arguments, name)
            sizes[name] = (stated,) * axes if isinstance(stated, int) else tuple(stated)
            if len(sizes[name]) != axes:
                raise AssertionError(f"{name} is {stated}, expected a number or {axes} of them")
        if not all(size % 2 for size in sizes["h2h_kernel"]):
            raise AssertionError(f"Only support odd number, get h2h_kernel= {arguments.h2h_kernel}")
        pad = tuple(step * (size - 1) // 2 for step, size in zip(sizes["h2h_dilate"], sizes["h2h_kernel"], strict=True))
        shared = {"num_filter": hidden * self.GATES, "stride": (1,) * axes, "layout": layout}
        of_input = {"kernel": sizes["i2h_kernel"], "pad": sizes["i2h_pad"], "dilate": sizes["i2h_dilate"]}
        self._of_input: dict[str, Any] = {**of_input, **shared}
        self._of_state = {"kernel": sizes["h2h_kernel"], "pad": pad, "dilate": sizes["h2h_dilate"], **shared}
        dimensions = list(arguments.input_shape)
        channels = dimensions.pop(self._channel_axis - 1)
        lengths = zip(dimensions, *(self._of_input[name] for name in ("kernel", "pad", "dilate")), strict=True)
        sizes_out = tuple(size + 2 * pad - step * (kernel - 1) if size else 0 for size, kernel, pad, step in lengths)
        self._state_shape = self._with_channels(hidden, sizes_out)
        rows = hidden * self.GATES
        read = self._with_channels(channels, sizes["i2h_kernel"])
        self._add(arguments, shapes_of_products(rows, read, self._with_channels(hidden, sizes["h2h_kernel"])))

    def _with_channels(self, channels: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return (channels, *sizes) if self._channel_axis == 1 else (*sizes, channels)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        info = {"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}
        return [dict(info) for _ in range(self.STATES)]

    def _products(self, F: Any, inputs: Any, state: Any, params: dict[str, Any], prefix: str) -> tuple[Any, Any]:
        i2h = F.Convolution(
            data=inputs, weight=params["i2h_weight"], bias=params["i2h_bias"], name=prefix + "i2h", **self._of_input
        )
        h2h = F.Convolution(
            data=state, weight=params["h2h_weight"], bias=params["h2h_bias"], name=prefix + "h2h", **self._of_state
        )
        return i2h, h2h

    def _parts(self, F: Any, product: Any, name: str) -> Any:
        return F.SliceChannel(product, num_outputs=self.GATES, name=name, axis=self._channel_axis)

    def __repr__(self) -> str:
        shape = self.i2h_weight.shape
        channels = shape[1 if self._channel_axis == 1 else -1]
        return f"{type(self).__name__}({channels or None} -> {shape[0]}, {self._activation}, {self._conv_layout})"


class _ConvRNNCell(_ConvCell):
    _ALIAS = "conv_rnn"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], params, prefix)
        output = _activated(F, i2h + h2h, self._activation, prefix + "out")
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    _ALIAS = "conv_lstm"
    GATES, STATES = 4, 2

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], params, prefix)
        parts = self._parts(F, i2h + h2h, prefix + "slice")
        let_in = F.Activation(parts[0], act_type="sigmoid", name=prefix + "i")
        forget = F.Activation(parts[1], act_type="sigmoid", name=prefix + "f")
        change = _activated(F, parts[2], self._activation, prefix + "c")
        let_out = F.Activation(parts[3], act_type="sigmoid", name=prefix + "o")
        state = F.elemwise_add(forget * states[1], let_in * change, name=prefix + "state")
        output = F.elemwise_mul(let_out, _activated(F, state, self._activation, None), name=prefix + "out")
        return output, [output, state]


class _ConvGRUCell(_ConvCell):
    _ALIAS = "conv_gru"
    GATES = 3

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], params, prefix)
        x, h = self._parts(F, i2h, prefix + "i2h_slice"), self._parts(F, h2h, prefix + "h2h_slice")
        reset = F.Activation(x[0] + h[0], act_type="sigmoid", name=prefix + "r_act")
        update = F.Activation(x[1] + h[1], act_type="sigmoid", name=prefix + "z_act")
        new = _activated(F, x[2] + reset * h[2], self._activation, prefix + "h_act")
        output = F.elemwise_add((1.0 - update) * new, update * states[0], name=prefix + "out")
        return output, [output]


Conv1DRNNCell, Conv2DRNNCell, Conv3DRNNCell = over_axes(
    _ConvRNNCell, "Conv{}DRNNCell", "Elman's cell over {}.", _arguments
)
Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell = over_axes(
    _ConvLSTMCell, "Conv{}DLSTMCell", "Long short-term memory over {}.", _arguments
)
Conv1DGRUCell, Conv2DGRUCell, Conv3DGRUCell = over_axes(
    _ConvGRUCell, "Conv{}DGRUCell", "A gated recurrent unit over {}.", _arguments
)


class LSTMPCell(_Cell):
    """Long short-term memory whose output is projected (arXiv:1402.1128)."""

    _ALIAS = "lstmp"
    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "hidden_size": REQUIRED, "projection_size": REQUIRED, "i2h_weight_initializer": None,
        "h2h_weight_initializer": None, "h2r_weight_initializer": None, "i2h_bias_initializer": "zeros",
        "h2h_bias_initializer": "zeros", "input_size": 0,
    }  # fmt: skip
    GATES = 4
    h2r_weight: Any

    def _build(self, arguments: SimpleNamespace) -> None:
        self._hidden_size, self._projection_size = arguments.hidden_size, arguments.projection_size
        rows = 4 * self._hidden_size
        shapes = {
            "i2h_weight": (rows, arguments.input_size), "h2h_weight": (rows, self._projection_size),
            "h2r_weight": (self._projection_size, self._hidden_size), "i2h_bias": (rows,), "h2h_bias": (rows,),
        }  # fmt: skip
        self._add(arguments, shapes)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        sizes = self._projection_size, self._hidden_size
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        prefix = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], params, prefix)
        parts = F.SliceChannel(i2h + h2h, num_outputs=4, name=prefix + "slice")
        let_in, forget, change, let_out = (
            F.Activation(part, act_type="tanh" if name == "c" else "sigmoid", name=prefix + name)
            for part, name in zip(parts, "ifco", strict=True)
        )
        state = F.elemwise_add(forget * states[1], let_in * change, name=prefix + "state")
        hidden = F.elemwise_mul(let_out, F.Activation(state, act_type="tanh"), name=prefix + "hidden")
        size, weight = self._projection_size, params["h2r_weight"]
        output = F.FullyConnected(data=hidden, num_hidden=size, weight=weight, no_bias=True, name=prefix + "out")
        return output, [output, state]

    def __repr__(self) -> str:
        shape = self.i2h_weight.shape
        return f"LSTMPCell({shape[1] or None} -> {shape[0]} -> {self.h2r_weight.shape[0]})"


class VariationalDropoutCell(ModifierCell):
    """A cell with the same dropout at all steps, which at inference computes what the cell within does."""

    _ALIAS = "vardrop"

    def __init__(
        self, base_cell: Any, drop_inputs: float = 0.0, drop_states: float = 0.0, drop_outputs: float = 0.0
    ) -> None:
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise AssertionError("BidirectionalCell doesn't support variational state dropout")
        super().__init__(base_cell)
        self.drop_inputs, self.drop_states, self.drop_outputs = drop_inputs, drop_states, drop_outputs

    def reset(self) -> None:
        """Begin to number the steps anew, with other masks."""
        super().reset()
        self._masks: dict[str, Any] = {}

    def _dropped(self, F: Any, what: str, value: Any) -> Any:
        rate = getattr(self, what)
        if not rate:
            return value
        if what not in self._masks:
            self._masks[what] = F.Dropout(F.ones_like(value), p=rate)
        return value * self._masks[what]

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        if self.drop_states:
            states = [self._dropped(F, "drop_states", states[0]), *states[1:]]
        output, new = self.base_cell(self._dropped(F, "drop_inputs", inputs), states)
        return self._dropped(F, "drop_outputs", output), new

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any, valid_length: Any) -> Any:
        """Return a whole sequence at once where only inputs and outputs are dropped."""
        if self.drop_states:
            return super()._unroll(length, inputs, begin_state, layout, merge, valid_length)
        whole, axis, F, batch = as_sequence(length, inputs, layout, True)
        states = begun(self, F, begin_state, batch)
        whole = F.Dropout(whole, p=self.drop_inputs, axes=(axis,)) if self.drop_inputs else whole
        outputs, states = self.base_cell.unroll(length, whole, states, layout, True, valid_length)
        outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(axis,)) if self.drop_outputs else outputs
        merges = is_whole(outputs) if merge is None else merge
        outputs = as_sequence(length, outputs, layout, merges)[0]
        if valid_length is not None:
            outputs = masked(F, outputs, length, valid_length, axis, merges)
        return outputs, states

    def __repr__(self) -> str:
        return f"VariationalDropoutCell(p_out = {self.drop_outputs}, p_state = {self.drop_states})"


__all__ = [
    "Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell", "Conv2DRNNCell",
    "Conv3DGRUCell", "Conv3DLSTMCell", "Conv3DRNNCell", "LSTMPCell", "VariationalDropoutCell",
]  # fmt: skip
