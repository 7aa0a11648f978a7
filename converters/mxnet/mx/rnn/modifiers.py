"""Cells made of cells: stacks, both directions, dropout, zoneout, residuals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphir.converters.mxnet.mx import symbol
from graphir.converters.mxnet.mx.rnn.cells import Arrays, BaseRNNCell, RNNParams, as_sequence
from graphir.converters.mxnet.mx.symbol import Symbol


class _Composite(BaseRNNCell):
    """Cells whose states stand one after the other."""

    def __init__(self, params: RNNParams | None) -> None:
        super().__init__("", params)
        self._given_params = params is not None

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: Callable[..., Any] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """States before the first step, made by `func`."""
        self._check_own()
        return [state for cell in self._cells for state in cell.begin_state(func=func, **kwargs)]

    def unpack_weights(self, args: Mapping[str, Any]) -> Arrays:
        """Arrays by name, with one for each gate of each cell."""
        arrays = dict(args)
        for cell in self._cells:
            arrays = cell.unpack_weights(arrays)
        return arrays

    def pack_weights(self, args: Mapping[str, Any]) -> Arrays:
        arrays = dict(args)
        for cell in self._cells:
            arrays = cell.pack_weights(arrays)
        return arrays

    def _hold(self, cell: BaseRNNCell) -> None:
        self._cells.append(cell)
        if self._given_params:
            if not cell._own_params:
                raise AssertionError("params are given for the cells or for what holds them, not for both")
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)

    def _shares(self, states: Sequence[Any]) -> list[Sequence[Any]]:
        """Return the states of each cell."""
        shares = []
        place = 0
        for cell in self._cells:
            count = len(cell.state_info)
            shares.append(states[place : place + count])
            place += count
        return shares


class SequentialRNNCell(_Composite):
    """A stack: each cell reads what the one below gives."""

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Put a cell on top."""
        self._hold(cell)

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        """Return one step. Raises AssertionError if a cell of both directions is among them."""
        self._counter += 1
        after: list[Any] = []
        for cell, share in zip(self._cells, self._shares(states), strict=True):
            if isinstance(cell, BidirectionalCell):
                raise AssertionError("a stack that holds a BidirectionalCell cannot be stepped: unroll(...) it")
            inputs, new = cell(inputs, share)
            after.extend(new)
        return inputs, after

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any) -> Any:
        """Return the outputs of `length` steps of the top cell, and the states of all cells after them."""
        states = self.begin_state() if begin_state is None else begin_state
        after: list[Any] = []
        for place, (cell, share) in enumerate(zip(self._cells, self._shares(states), strict=True)):
            merge_outputs = merge if place == len(self._cells) - 1 else None
            inputs, new = cell.unroll(length, inputs, share, layout, merge_outputs)
            after.extend(new)
        return inputs, after


class BidirectionalCell(_Composite):
    """Two cells that read a sequence forwards and backwards, their outputs joined along the last axis."""

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._hold(l_cell)
        self._hold(r_cell)

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        """Not there: it reads sequences from both ends. Raises NotImplementedError."""
        raise NotImplementedError("BidirectionalCell cannot be stepped: unroll(...) it")

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any) -> Any:
        """Return the joined outputs of `length` steps, and a list of the states of either direction."""
        axis = layout.find("T")
        steps = as_sequence(length, inputs, layout, merge=False)
        states = self._shares(self.begin_state() if begin_state is None else begin_state)
        results = [
            cell.unroll(length, read, share, layout, merge)
            for cell, read, share in zip(self._cells, (steps, steps[::-1]), states, strict=True)
        ]
        (ahead, _), (back, _) = results
        after = [new for _, new in results]
        if merge is None:
            merge = isinstance(ahead, Symbol) and isinstance(back, Symbol)
        if merge:
            turned = symbol.reverse(back, axis=axis)
            return symbol.Concat(ahead, turned, dim=2, name=f"{self._output_prefix}out"), after
        listed = [
            list(symbol.SliceChannel(given, axis=axis, num_outputs=length, squeeze_axis=1))
            if isinstance(given, Symbol)
            else given
            for given in (ahead, back)
        ]
        return [
            symbol.Concat(left, right, dim=1, name=f"{self._output_prefix}t{place}")
            for place, (left, right) in enumerate(zip(listed[0], listed[1][::-1], strict=True))
        ], after


class DropoutCell(BaseRNNCell):
    """Dropout of what it reads; it has no state."""

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """None."""
        return []

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        return (symbol.Dropout(data=inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any) -> Any:
        """Return the sequence after dropout: in one operator where it is one symbol."""
        given = as_sequence(length, inputs, layout, merge)
        if isinstance(given, Symbol):
            return self(given, [])
        return super()._unroll(length, given, begin_state, layout, merge)


class ModifierCell(BaseRNNCell):
    """A cell in whose place this one is called from now on."""

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        """The variables of the cell within."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        return self.base_cell.state_info

    def begin_state(self, func: Callable[..., Any] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """States before the first step, made by `func` or `init_sym`."""
        self._check_own()
        self.base_cell._modified = False
        states = self.base_cell.begin_state(func=kwargs.pop("init_sym", func), **kwargs)
        self.base_cell._modified = True
        return states

    def unpack_weights(self, args: Mapping[str, Any]) -> Arrays:
        """Arrays by name, with one for each gate."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, Any]) -> Arrays:
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """A cell of whose outputs and states some stay as they were, in training."""

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if not _steps(base_cell):
            raise AssertionError(f"{type(base_cell).__name__} cannot be stepped; put ZoneoutCell around its cells")
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self.prev_output: Any = None

    def reset(self) -> None:
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        output, after = self.base_cell(inputs, states)
        before = symbol.zeros((0, 0)) if self.prev_output is None else self.prev_output
        if self.zoneout_outputs != 0:
            output = _mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states != 0:
            after = [_mixed(self.zoneout_states, new, old) for new, old in zip(after, states, strict=True)]
        self.prev_output = output
        return output, after


class ResidualCell(ModifierCell):
    """A cell whose input is added to its output."""

    def __call__(self, inputs: Any, states: Sequence[Any]) -> tuple[Any, Any]:
        output, after = self.base_cell(inputs, states)
        return _added(output, inputs), after

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge: Any) -> Any:
        """Return the outputs of `length` steps, to which what was read is added whole or step by step."""
        self.base_cell._modified = False
        outputs, after = self.base_cell.unroll(length, inputs, begin_state, layout, merge)
        self.base_cell._modified = True
        whole = isinstance(outputs, Symbol) if merge is None else merge
        read = as_sequence(length, inputs, layout, whole)
        if whole:
            return _added(outputs, read), after
        return [_added(output, step) for output, step in zip(outputs, read, strict=True)], after


def _steps(cell: BaseRNNCell) -> bool:
    """Return whether a cell can be stepped."""
    if isinstance(cell, SequentialRNNCell):
        return all(_steps(part) for part in cell._cells)
    # The operator of all layers is known by what only it can do: its module needs this one.
    return not isinstance(cell, BidirectionalCell) and not hasattr(cell, "unfuse")


def _mixed(rate: float, new: Any, old: Any) -> Any:
    return symbol.where(symbol.Dropout(symbol.ones_like(new), p=rate), new, old)


def _added(output: Any, read: Any) -> Any:
    return symbol.elemwise_add(output, read, name=f"{output.name}_plus_residual")


__all__ = ["BidirectionalCell", "DropoutCell", "ModifierCell", "ResidualCell", "SequentialRNNCell", "ZoneoutCell"]
