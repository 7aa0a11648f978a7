"""The cells of `mx.rnn`: what all share, the three kinds, and the same with convolutions for products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from graphir.converters.mxnet.mx import ndarray, symbol
from graphir.converters.mxnet.mx.fused_parameters import GATES
from graphir.converters.mxnet.mx.initializer import LSTMBias
from graphir.converters.mxnet.mx.symbol import Symbol

Arrays = dict[str, Any]


class RNNParams:
    """The variables of a cell by name; cells that are given the same one share them."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Any] = {}

    def get(self, name: str, **kwargs: Any) -> Any:
        """Return the variable of a name, which is made with `kwargs` (of `mx.sym.Variable`) when it is first asked
        for."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.Variable(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """One step of a recurrence: called with a symbol and a list of states it gives the output and the new states."""

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self._cells: list[BaseRNNCell] = []
        self.reset()

    def reset(self) -> None:
        """Begin to number the steps anew."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._cells:
            cell.reset()

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        """Return one step for an input of shape (batch, features): the output, and the states after it."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    @property
    def params(self) -> RNNParams:
        """The variables, which from now on count as shared."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states; a batch size of 0 is open."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """Shapes of the states."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Sequence[str]:
        return ()

    def begin_state(self, func: Callable[..., Any] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """States before the first step, made by `func`: `mx.sym.zeros`, or `mx.sym.Variable` for inputs.

        Raises AssertionError for a cell within a modifier.
        """
        self._check_own()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **(kwargs | info)))
        return states

    def unpack_weights(self, args: Mapping[str, Any]) -> Arrays:
        """Arrays by name, with one for each gate (`lstm_i2h_f_weight`) in place of those of all gates."""
        arrays = dict(args)
        for stem in self._stems():
            whole = arrays.pop(stem.format(""))
            rows = whole.shape[0] // len(self._gate_names)
            for place, gate in enumerate(self._gate_names):
                arrays[stem.format(gate)] = whole[place * rows : (place + 1) * rows].copy()
        return arrays

    def pack_weights(self, args: Mapping[str, Any]) -> Arrays:
        """Return the inverse of `unpack_weights`."""
        arrays = dict(args)
        for stem in self._stems():
            arrays[stem.format("")] = ndarray.concatenate([arrays.pop(stem.format(gate)) for gate in self._gate_names])
        return arrays

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """Return the outputs of `length` steps, and the states after them.

        `inputs` is a list of steps of shape (batch, ...), or one symbol in the `layout`. Outputs are one symbol where
        `merge_outputs` is true, a list where it is false, and what costs no operator where it is None.
        """
        self.reset()
        return self._unroll(length, inputs, begin_state, layout, merge_outputs)  # type: ignore[no-any-return]

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any) -> Any:
        steps = as_sequence(length, inputs, layout, merge=False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for place in range(length):
            output, states = self(steps[place], states)
            outputs.append(output)
        return as_sequence(length, outputs, layout, merge), states

    def _stems(self) -> list[str]:
        """Names of weights and biases, with a place for the gate's; none for a cell without gates."""
        if not self._gate_names:
            return []
        return [f"{self._prefix}{group}{{}}_{kind}" for group in ("i2h", "h2h") for kind in ("weight", "bias")]

    def _check_own(self) -> None:
        if self._modified:
            raise AssertionError("this cell is within a modifier such as a ZoneoutCell: call the modifier instead")


def as_sequence(length: int | None, inputs: Any, layout: str, merge: bool | None) -> Any:
    """Return a sequence as one symbol in the `layout` (`merge`), as a list of steps (False), or as it is (None).

    Raises AssertionError for None, for a symbol of several outputs, and for another number of steps than `length`.
    """
    if inputs is None:
        raise AssertionError("unroll needs inputs: a symbol, or a list of one for each step; got None")
    axis = layout.find("T")
    if isinstance(inputs, Symbol):
        if merge is not False:
            return inputs
        if len(inputs) != 1:
            raise AssertionError("unroll splits a symbol of one output, not a group; list(group) gives its steps")
        return list(symbol.split(inputs, axis=axis, num_outputs=length, squeeze_axis=1))
    if length not in (None, len(inputs)):
        raise AssertionError(f"the sequence has {len(inputs)} steps, {length} are to be unrolled")
    if not merge:
        return inputs
    return symbol.Concat(*[symbol.expand_dims(step, axis=axis) for step in inputs], dim=axis)


Pair = tuple[int, int]
Activation = str | Callable[..., Any]
LEAKY = partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class _Cell(BaseRNNCell):
    """A cell with a product for its input and one for its state, whose rows hold the gates in their order."""

    GATES: ClassVar[tuple[str, ...]]
    STATES = 1
    PRODUCTS = ""  # what stands before the names of the products

    def __init__(self, num_hidden: int, activation: Activation, prefix: str, params: RNNParams | None) -> None:
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        self._activation = activation

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        return [self._state() for _ in range(self.STATES)]

    @property
    def _gate_names(self) -> Sequence[str]:
        return self.GATES

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        self._counter += 1
        name = f"{self._prefix}t{self._counter}_"
        i2h = self._product("i2h", inputs, name)
        h2h = self._product("h2h", states[0], name)
        return self._next(i2h, h2h, states, name)

    def _state(self) -> dict[str, Any]:
        return {"shape": (0, self._num_hidden), "__layout__": "NC"}

    def _product(self, group: str, data: Any, name: str) -> Any:
        return symbol.FullyConnected(
            data=data,
            weight=self._params.get(f"{group}_weight"),
            bias=self._params.get(f"{group}_bias"),
            num_hidden=self._num_hidden * len(self.GATES),
            name=f"{name}{self.PRODUCTS}{group}",
        )

    def _next(self, i2h: Any, h2h: Any, states: Sequence[Any], name: str) -> tuple[Any, Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define _next")

    def _activated(self, data: Any, **name: str) -> Any:
        if isinstance(self._activation, str):
            return symbol.Activation(data, act_type=self._activation, **name)
        return self._activation(data, **name)


class _Elman(_Cell):
    GATES = GATES["rnn_tanh"]

    def _next(self, i2h: Any, h2h: Any, states: Sequence[Any], name: str) -> tuple[Any, Any]:
        output = self._activated(i2h + h2h, name=f"{name}out")
        return output, [output]


class _LongShortTerm(_Cell):
    GATES = GATES["lstm"]
    STATES = 2

    def _next(self, i2h: Any, h2h: Any, states: Sequence[Any], name: str) -> tuple[Any, Any]:
        parts = symbol.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice", **self._slicing())
        let_in = symbol.Activation(parts[0], act_type="sigmoid", name=f"{name}i")
        forget = symbol.Activation(parts[1], act_type="sigmoid", name=f"{name}f")
        change = self._activated(parts[2], name=f"{name}c")
        let_out = symbol.Activation(parts[3], act_type="sigmoid", name=f"{name}o")
        state = symbol._internal._plus(forget * states[1], let_in * change, name=f"{name}state")
        output = symbol._internal._mul(let_out, self._activated(state), name=f"{name}out")
        return output, [output, state]

    def _slicing(self) -> dict[str, int]:
        return {}


class _Gated(_Cell):
    GATES = GATES["gru"]

    def _next(self, i2h: Any, h2h: Any, states: Sequence[Any], name: str) -> tuple[Any, Any]:
        x = symbol.SliceChannel(i2h, num_outputs=3, name=f"{name}_i2h_slice")
        h = symbol.SliceChannel(h2h, num_outputs=3, name=f"{name}_h2h_slice")
        reset = symbol.Activation(x[0] + h[0], act_type="sigmoid", name=f"{name}_r_act")
        update = symbol.Activation(x[1] + h[1], act_type="sigmoid", name=f"{name}_z_act")
        new = self._activated(x[2] + reset * h[2], name=f"{name}_h_act")
        output = symbol._internal._plus((1.0 - update) * new, update * states[0], name=f"{name}out")
        return output, [output]


class RNNCell(_Elman):
    """Elman's cell: activation(W x + b + R h + c)."""

    def __init__(
        self, num_hidden: int, activation: Activation = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, activation, prefix, params)


class LSTMCell(_LongShortTerm):
    """Long short-term memory; its gates stand in the order input, forget, cell, output.

    `forget_bias` is what the forget gate's bias is initialized with.
    """

    def __init__(
        self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0
    ) -> None:
        super().__init__(num_hidden, "tanh", prefix, params)
        self._params.get("i2h_bias", init=LSTMBias(forget_bias=forget_bias))


class GRUCell(_Gated):
    """A gated recurrent unit, in cuDNN's form; its gates stand in the order reset, update, new."""

    PRODUCTS = "_"

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, "tanh", prefix, params)


class _Convolved(_Cell):
    """A cell whose products are convolutions; its states have the shape of the input's.

    `input_shape` is (batch, channels, height, width) in the `conv_layout`, the batch size is not used. Raises
    AssertionError for a kernel of the state that has even sizes.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        num_hidden: int,
        h2h_kernel: Pair = (3, 3),
        h2h_dilate: Pair = (1, 1),
        i2h_kernel: Pair = (3, 3),
        i2h_stride: Pair = (1, 1),
        i2h_pad: Pair = (1, 1),
        i2h_dilate: Pair = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Activation = LEAKY,
        prefix: str | None = None,
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        prefix = f"{type(self).__name__.removesuffix('Cell')}_" if prefix is None else prefix
        super().__init__(num_hidden, activation, prefix, params)
        if not all(size % 2 for size in h2h_kernel):
            raise AssertionError(f"h2h_kernel is {h2h_kernel}, expected odd sizes: a state keeps its size")
        self._conv_layout = conv_layout
        padded = (h2h_dilate[0] * (h2h_kernel[0] - 1) // 2, h2h_dilate[1] * (h2h_kernel[1] - 1) // 2)
        self._windows: dict[str, dict[str, Pair]] = {
            "i2h": {"kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate},
            "h2h": {"kernel": h2h_kernel, "stride": (1, 1), "pad": padded, "dilate": h2h_dilate},
        }
        data = symbol.Variable("data")
        state = symbol.Convolution(data=data, num_filter=num_hidden, layout=conv_layout, **self._windows["i2h"])
        self._state_size = state.infer_shape(data=input_shape)[1][0][1:]
        self._params.get("i2h_weight", init=i2h_weight_initializer)
        self._params.get("h2h_weight", init=h2h_weight_initializer)
        self._params.get("i2h_bias", init=i2h_bias_initializer)
        self._params.get("h2h_bias", init=h2h_bias_initializer)

    def _state(self) -> dict[str, Any]:
        return {"shape": (0, *self._state_size), "__layout__": self._conv_layout}

    def _product(self, group: str, data: Any, name: str) -> Any:
        return symbol.Convolution(
            data=data,
            weight=self._params.get(f"{group}_weight"),
            bias=self._params.get(f"{group}_bias"),
            num_filter=self._num_hidden * len(self.GATES),
            layout=self._conv_layout,
            name=f"{name}{group}",
            **self._windows[group],
        )


class ConvRNNCell(_Convolved, _Elman):
    """Elman's cell with convolutions."""


class ConvLSTMCell(_Convolved, _LongShortTerm):
    """Long short-term memory with convolutions."""

    def _slicing(self) -> dict[str, int]:
        return {"axis": self._conv_layout.find("C")}


class ConvGRUCell(_Convolved, _Gated):
    """A gated recurrent unit with convolutions."""

__all__ = ["BaseRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell", "GRUCell", "LSTMCell", "RNNCell", "RNNParams"]
