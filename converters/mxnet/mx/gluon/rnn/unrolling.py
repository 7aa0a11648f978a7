"""Cells step by step: sequences as lists or arrays, states before the first step, unrolling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphir.converters.mxnet.mx import ndarray, symbol
from graphir.converters.mxnet.mx.gluon.block import Block
from graphir.converters.mxnet.mx.gluon.hybrid_block import HybridBlock
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict
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
    found = F.SequenceMask(whole, sequence_length=valid_length, use_sequence_length=True, axis=axis)
    return found if merge else list(F.split(found, num_outputs=length, axis=axis, squeeze_axis=True))


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
        if self._modified:
            raise AssertionError("this cell is wrapped in another (zoneout, dropout, residual): call that one")
        found = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            found.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **(info | kwargs)))
        return found

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
                    F.stack(*held, axis=0), sequence_length=valid_length, use_sequence_length=True, axis=0
                )
                for held in zip(*passed, strict=True)
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


__all__ = ["HybridRecurrentCell", "RecurrentCell", "as_sequence", "begun", "is_whole", "masked"]
