"""Cells made of cells: one above the other, in both directions, with dropout or what they read added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphir.converters.mxnet.mx import ndarray
from graphir.converters.mxnet.mx.gluon.parameter_dict import ParameterDict
from graphir.converters.mxnet.mx.gluon.rnn.cells import (
    HybridRecurrentCell,
    RecurrentCell,
    as_sequence,
    begun,
    is_whole,
    masked,
)


class _Several(RecurrentCell):
    """Cells in one; the states are those of all, in their order."""

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shapes and layouts of the states of all cells."""
        return [info for cell in self._cells() for info in cell.state_info(batch_size)]

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """States of all cells before the first step."""
        self._check_free()
        return [state for cell in self._cells() for state in cell.begin_state(batch_size, func, **kwargs)]

    def _cells(self) -> list[Any]:
        return list(self._children.values())


class _Stack(_Several):
    """Cells one above the other."""

    def add(self, cell: Any) -> None:
        """Put a cell above the others."""
        self.register_child(cell)

    def _stepped(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        self._counter += 1
        after: list[Any] = []
        begin = 0
        for cell in self._cells():
            count = len(cell.state_info())
            inputs, new = cell(inputs, states[begin : begin + count])
            begin += count
            after += new
        return inputs, after

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any, valid_length: Any) -> Any:
        """Return the outputs of the highest cell and the last states of all, each cell unrolled after the other."""
        steps, _, F, batch = as_sequence(length, inputs, layout, None)
        states = begun(self, F, begin_state, batch)
        cells = self._cells()
        after: list[Any] = []
        begin = 0
        for place, cell in enumerate(cells):
            count = len(cell.state_info())
            merge_outputs = merge if place == len(cells) - 1 else None
            steps, new = cell.unroll(length, steps, states[begin : begin + count], layout, merge_outputs, valid_length)
            begin += count
            after += new
        return steps, after

    def __repr__(self) -> str:
        rows = "\n".join(f"({key}): " + repr(cell).replace("\n", "\n  ") for key, cell in self._children.items())
        return f"{type(self).__name__}(\n{rows}\n)"

    def __getitem__(self, index: int) -> Any:
        return self._cells()[index]

    def __len__(self) -> int:
        return len(self._children)


class SequentialRNNCell(_Stack):
    """Cells one above the other."""

    def forward(self, inputs: Any, states: Any) -> Any:
        return self._stepped(inputs, states)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Hybrid cells one above the other."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        HybridRecurrentCell.__init__(self, prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        self._counter -= 1  # forward has counted this step
        return self._stepped(inputs, states)


class DropoutCell(HybridRecurrentCell):
    """Dropout between cells, which at inference gives what it reads."""

    _ALIAS = "dropout"

    def __init__(
        self, rate: float, axes: tuple[int, ...] = (), prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix, params)
        if not isinstance(rate, int | float):
            raise AssertionError("the rate is no number")
        self._rate, self._axes = rate, axes

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """There are no states."""
        return []

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Return what is read, behind a Dropout."""
        if self._rate > 0:
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any, valid_length: Any) -> Any:
        """Return a sequence that is whole at once, another one step by step."""
        steps, _, F, _ = as_sequence(length, inputs, layout, merge)
        if is_whole(steps):
            step: tuple[Any, Any] = self.hybrid_forward(F, steps, begin_state or [])
            return step
        return super()._unroll(length, steps, begin_state, layout, merge, None)

    def __repr__(self) -> str:
        return f"DropoutCell(rate={self._rate}, axes={self._axes})"


class ModifierCell(HybridRecurrentCell):
    """A cell around another one, whose parameters and states are those of the other."""

    def __init__(self, base_cell: Any) -> None:
        if base_cell._modified:
            raise AssertionError(f"the cell {base_cell.name} is wrapped in another already")
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> ParameterDict:
        """The parameters of the cell within."""
        parameters: ParameterDict = self.base_cell.params
        return parameters

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        info: list[dict[str, Any]] = self.base_cell.state_info(batch_size)
        return info

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """States of the cell within before the first step."""
        self._check_free()
        self.base_cell._modified = False
        states: list[Any] = self.base_cell.begin_state(batch_size, func, **kwargs)
        self.base_cell._modified = True
        return states

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """A cell that keeps its last output or states now and then while it is trained (arXiv:1606.01305)."""

    _ALIAS = "zoneout"

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise AssertionError("zoneout goes around the two cells of a BidirectionalCell, not around itself")
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states

    def reset(self) -> None:
        """Begin to number the steps anew, without a last output."""
        super().reset()
        self._last: Any = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        output, new = self.base_cell(inputs, states)

        def kept(rate: float, value: Any, old: Any) -> Any:
            mask = F.Dropout(F.ones_like(value), p=rate)
            return F.where(mask, value, F.zeros_like(value) if old is None else old)

        shown = kept(self.zoneout_outputs, output, self._last) if self.zoneout_outputs else output
        if self.zoneout_states:
            new = [kept(self.zoneout_states, value, old) for value, old in zip(new, states, strict=True)]
        self._last = shown
        return shown, new

    def __repr__(self) -> str:
        return f"ZoneoutCell(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell})"


class ResidualCell(ModifierCell):
    """The output of a cell plus what it reads (arXiv:1609.08144)."""

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any, valid_length: Any) -> Any:
        """Return the outputs of the cell within plus what it reads."""
        self.base_cell._modified = False
        outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, merge, valid_length)
        self.base_cell._modified = True
        merge = is_whole(outputs) if merge is None else merge
        steps, axis, F, _ = as_sequence(length, inputs, layout, merge)
        if valid_length is not None:
            steps = masked(F, steps, length, valid_length, axis, merge)
        if merge:
            return F.elemwise_add(outputs, steps), states
        return [F.elemwise_add(output, read) for output, read in zip(outputs, steps, strict=True)], states


class BidirectionalCell(_Several, HybridRecurrentCell):
    """A cell that reads a sequence forwards and one that reads it backwards, unrolled; outputs stand side by side."""

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        HybridRecurrentCell.__init__(self, prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any) -> Any:
        raise NotImplementedError("BidirectionalCell reads sequences from both ends: unroll(...) it")

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any, valid_length: Any) -> Any:
        """Return the outputs of both cells side by side, and the last states of both."""
        steps, axis, F, batch = as_sequence(length, inputs, layout, False)
        turned = _turned(F, steps, length, valid_length)
        states = begun(self, F, begin_state, batch)
        left, right = self._cells()
        count = len(left.state_info(batch))
        l_outputs, l_states = left.unroll(length, steps, states[:count], layout, merge, valid_length)
        r_outputs, r_states = right.unroll(length, turned, states[count:], layout, False, valid_length)
        merge = is_whole(l_outputs) if merge is None else merge
        l_outputs = as_sequence(None, l_outputs, layout, merge)[0]
        r_outputs = as_sequence(None, _turned(F, r_outputs, length, valid_length), layout, merge)[0]
        if merge:
            outputs = F.concat(l_outputs, r_outputs, dim=2, name=f"{self._output_prefix}out")
        else:
            outputs = [
                F.concat(left_output, other, dim=1, name=f"{self._output_prefix}t{place}")
                for place, (left_output, other) in enumerate(zip(l_outputs, r_outputs, strict=True))
            ]
        if valid_length is not None:
            outputs = masked(F, outputs, length, valid_length, axis, merge)
        return outputs, [*l_states, *r_states]

    def __repr__(self) -> str:
        left, right = self._children.values()
        return f"BidirectionalCell(forward={left}, backward={right})"


def _turned(F: Any, steps: list[Any], length: int, valid_length: Any) -> list[Any]:
    """Return the steps backwards; with a valid length those of each sample, and the rest where it is."""
    if valid_length is None:
        return list(reversed(steps))
    whole = F.SequenceReverse(F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True)
    return list(F.split(whole, axis=0, num_outputs=length, squeeze_axis=True)) if length > 1 else [whole[0]]

__all__ = [
    "BidirectionalCell", "DropoutCell", "HybridSequentialRNNCell", "ModifierCell", "ResidualCell", "SequentialRNNCell",
    "ZoneoutCell",
]  # fmt: skip
