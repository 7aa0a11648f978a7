"""Recurrent layers over whole sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from graphir.converters.mxnet.mx import ndarray, symbol
from graphir.converters.mxnet.mx.gluon.hybrid_block import REQUIRED, ArgumentBlock
from graphir.converters.mxnet.mx.ndarray import NDArray

INITIALIZERS = {
    "i2h_weight_initializer": None,
    "h2h_weight_initializer": None,
    "i2h_bias_initializer": "zeros",
    "h2h_bias_initializer": "zeros",
}


def shapes_of_products(rows: int, read: Sequence[int], state: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a cell's parameters: `rows` of what it reads and of its state, and their biases."""
    return {"i2h_weight": (rows, *read), "h2h_weight": (rows, *state), "i2h_bias": (rows,), "h2h_bias": (rows,)}


class _Layer(ArgumentBlock):
    """Layers of one kind of cell, one above the other, in one or both directions.

    Data is [T, N, C], or [N, T, C] with that layout. Called with data alone it gives the outputs; called with data and
    states, the outputs and the states behind the last step.
    """

    GATES = 1
    STATES = 1
    MODE = ""
    l0_i2h_weight: Any

    def _prepare(self, arguments: SimpleNamespace) -> None:
        if arguments.layout not in ("TNC", "NTC"):
            raise AssertionError(f"the layout is {arguments.layout!r}, expected TNC or NTC")

    def _build(self, arguments: SimpleNamespace) -> None:
        hidden_size, num_layers, dtype = arguments.hidden_size, arguments.num_layers, arguments.dtype
        self._hidden_size, self._num_layers, self._input_size = hidden_size, num_layers, arguments.input_size
        self._layout, self._dropout, self._dtype = arguments.layout, arguments.dropout, dtype
        self._mode = self.MODE
        self._dir = 2 if arguments.bidirectional else 1
        self._clip = {"lstm_state_clip_min": None, "lstm_state_clip_max": None, "lstm_state_clip_nan": False}
        read, rows = self._input_size, self.GATES * hidden_size
        for layer in range(num_layers):
            for side in "lr"[: self._dir]:
                shapes = shapes_of_products(rows, (read,), (hidden_size,))
                self._add(arguments, shapes, f"{side}{layer}_", dtype=dtype)
            read = hidden_size * self._dir

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        shape = (self._num_layers * self._dir, batch_size, self._hidden_size)
        return [{"shape": shape, "__layout__": "LNC", "dtype": self._dtype} for _ in range(self.STATES)]

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """States before the first step, made by `func`: zeros of `mx.nd` or `mx.sym`."""
        return [
            func(name=f"{self.prefix}h0_{place}", **(info | kwargs))
            for place, info in enumerate(self.state_info(batch_size))
        ]

    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None) -> Any:
        if sequence_length is not None:
            raise ValueError("sequence_length is not here: use F.SequenceMask, or unroll a cell with valid_length")
        alone = states is None
        if alone and isinstance(inputs, NDArray):
            batch = inputs.shape[self._layout.find("N")]
            states = self.begin_state(batch, ctx=inputs.context, dtype=inputs.dtype)
        elif alone:
            states = self.begin_state(0, symbol.zeros)
        elif not isinstance(states, list | tuple):
            states = [states]
        outputs, last = super().__call__(inputs, list(states))
        return outputs if alone else [outputs, last]

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **params: Any) -> Any:
        """Return the outputs, and the states behind the last step. Raises ValueError for states of another shape."""
        if isinstance(inputs, NDArray):
            batch = inputs.shape[self._layout.find("N")]
            for state, info in zip(states, self.state_info(batch), strict=True):
                if state.shape != info["shape"]:
                    raise ValueError(
                        f"Invalid recurrent state shape. Expecting {info['shape']}, got {state.shape}."
                    )
        swaps = self._layout == "NTC"
        if swaps:
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        packed = F._internal._rnn_param_concat(*self._flat(params), dim=0)
        results = F.RNN(
            inputs,
            packed,
            *states,
            use_sequence_length=False,
            state_size=self._hidden_size,
            projection_size=None,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            **self._clip,
        )
        outputs = F.swapaxes(results[0], dim1=0, dim2=1) if swaps else results[0]
        return outputs, [results[place] for place in range(1, 1 + self.STATES)]

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """Give the parameters the shapes that follow from the data."""
        for side in "lr"[: self._dir]:
            getattr(self, f"{side}0_i2h_weight").shape = (self.GATES * self._hidden_size, inputs.shape[2])

    def _finish(self, args: Any, read: set[str]) -> None:
        self.infer_shape(args[0])
        for parameter in self.params.values():
            parameter._finish_deferred_init()

    def _flat(self, params: dict[str, Any]) -> list[Any]:
        """Return the parameters in the order of the packed vector: all weights, then all biases."""
        return [
            params[f"{side}{layer}_{group}_{kind}"].reshape(-1)
            for kind in ("weight", "bias")
            for layer in range(self._num_layers)
            for side in "lr"[: self._dir]
            for group in ("i2h", "h2h")
        ]

    def __repr__(self) -> str:
        width = self.l0_i2h_weight.shape[1] or None
        more = [
            f"num_layers={self._num_layers}" if self._num_layers != 1 else "",
            f"dropout={self._dropout}" if self._dropout else "",
            "bidirectional" if self._dir == 2 else "",
        ]
        parts = [f"{width} -> {self._hidden_size}", self._layout, *(part for part in more if part)]
        return f"{type(self).__name__}({', '.join(parts)})"


class RNN(_Layer):
    """Elman's cells with `relu` or `tanh`."""

    ARGUMENTS = {
        "hidden_size": REQUIRED,
        "num_layers": 1,
        "activation": "relu",
        "layout": "TNC",
        "dropout": 0,
        "bidirectional": False,
        **INITIALIZERS,
        "input_size": 0,
        "dtype": "float32",
    }

    def _build(self, arguments: SimpleNamespace) -> None:
        super()._build(arguments)
        self._mode = f"rnn_{arguments.activation}"


GATED = {
    "hidden_size": REQUIRED,
    "num_layers": 1,
    "layout": "TNC",
    "dropout": 0,
    "bidirectional": False,
    "input_size": 0,
    **INITIALIZERS,
}


class LSTM(_Layer):
    """Long short-term memory. Raises ValueError for projections, which onnxruntime has no kernel for."""

    GATES, STATES, MODE = 4, 2, "lstm"
    ARGUMENTS = {
        **GATED,
        "projection_size": None,
        "h2r_weight_initializer": None,
        "state_clip_min": None,
        "state_clip_max": None,
        "state_clip_nan": False,
        "dtype": "float32",
    }

    def _prepare(self, arguments: SimpleNamespace) -> None:
        super()._prepare(arguments)
        if arguments.projection_size is not None:
            raise ValueError("an LSTM with projection_size is not here: ONNX has no such operator")

    def _build(self, arguments: SimpleNamespace) -> None:
        super()._build(arguments)
        self._clip = {f"lstm_{name}": getattr(arguments, name) for name in self.ARGUMENTS if "_clip_" in name}


class GRU(_Layer):
    """Gated recurrent units, in cuDNN's form: the reset gate comes behind the product."""

    GATES, MODE = 3, "gru"
    ARGUMENTS = {**GATED, "dtype": "float32"}

__all__ = ["GRU", "LSTM", "RNN"]
