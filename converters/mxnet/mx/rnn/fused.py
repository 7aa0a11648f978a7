"""Layers of cells as MXNet's operator RNN, whose parameters are one vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphir.converters.mxnet.mx import ndarray, symbol
from graphir.converters.mxnet.mx.fused_parameters import FusedParameters
from graphir.converters.mxnet.mx.initializer import FusedRNN
from graphir.converters.mxnet.mx.rnn.cells import (
    Arrays,
    BaseRNNCell,
    GRUCell,
    LSTMCell,
    RNNCell,
    RNNParams,
    as_sequence,
)
from graphir.converters.mxnet.mx.rnn.modifiers import BidirectionalCell, DropoutCell, SequentialRNNCell


class FusedRNNCell(BaseRNNCell):
    """All steps of all layers in one operator; it is unrolled, never stepped.

    `mode` is rnn_relu, rnn_tanh, lstm or gru; the states after the last step are given where `get_next_state` is.
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout, self._get_next_state = bidirectional, dropout, get_next_state
        self._layers = FusedParameters(num_hidden, num_layers, mode, bidirectional)
        init = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        shape = (len(self._layers.directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self) -> Sequence[str]:
        return self._layers.gates

    def unpack_weights(self, args: Mapping[str, Any]) -> Arrays:
        """Arrays by name, with one for each weight and bias of each gate in place of the vector."""
        arrays = dict(args)
        vector = arrays.pop(self._parameter.name)
        parts = self._layers.parts(vector, self._layers.features(vector.size))
        arrays |= {self._prefix + name: part.copy() for name, part in parts}
        return arrays

    def pack_weights(self, args: Mapping[str, Any]) -> Arrays:
        arrays = dict(args)
        first = arrays[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        features = first.shape[1]
        vector = ndarray.zeros((self._layers.size(features),), ctx=first.context, dtype=first.dtype)
        for name, part in self._layers.parts(vector, features):
            part[:] = arrays.pop(self._prefix + name)
        arrays[self._parameter.name] = vector
        return arrays

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        """Not there: the operator takes whole sequences. Raises NotImplementedError."""
        raise NotImplementedError("FusedRNNCell cannot be stepped: unroll(...) it, or step what unfuse() gives")

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any) -> Any:
        """Return the outputs of `length` steps and the states after them, an empty list unless they are asked for."""
        whole = as_sequence(length, inputs, layout, merge=True)
        if layout.find("T") not in (0, 1):
            raise AssertionError(f"the layout is {layout}, expected time as the first or second axis: TNC or NTC")
        swaps = layout.find("T") == 1
        if swaps:
            whole = symbol.swapaxes(whole, dim1=0, dim2=1)
        begun = self.begin_state() if begin_state is None else begin_state
        rnn = symbol.RNN(
            data=whole,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            **dict(zip(("state", "state_cell"), begun[: len(self.state_info)], strict=False)),
        )
        states = list(rnn)[1:] if self._get_next_state else []
        for state in states:
            state._set_attr(__layout__="LNC")
        outputs = rnn[0]
        if swaps:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return as_sequence(length, outputs, layout, merge), states

    def unfuse(self) -> SequentialRNNCell:
        """Return the same layers as cells, which can be stepped; `pack_weights` and `unpack_weights` lead between
        both."""
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            ahead = self._plain(f"{self._prefix}l{layer}_")
            if self._bidirectional:
                back = self._plain(f"{self._prefix}r{layer}_")
                stack.add(BidirectionalCell(ahead, back, output_prefix=f"{self._prefix}bi_l{layer}_"))
            else:
                stack.add(ahead)
            if self._dropout > 0 and layer != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack

    def _plain(self, prefix: str) -> BaseRNNCell:
        if self._mode == "lstm":
            return LSTMCell(self._num_hidden, prefix=prefix)
        if self._mode == "gru":
            return GRUCell(self._num_hidden, prefix=prefix)
        return RNNCell(self._num_hidden, activation=self._mode.removeprefix("rnn_"), prefix=prefix)


__all__ = ["FusedRNNCell"]
