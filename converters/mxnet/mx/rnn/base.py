"""What all cells of `mx.rnn` share: their variables, the states before the first step, unrolling, gates of weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphir.converters.mxnet.mx import ndarray, symbol
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
        found = dict(args)
        for stem in self._stems():
            whole = found.pop(stem.format(""))
            rows = whole.shape[0] // len(self._gate_names)
            for place, gate in enumerate(self._gate_names):
                found[stem.format(gate)] = whole[place * rows : (place + 1) * rows].copy()
        return found

    def pack_weights(self, args: Mapping[str, Any]) -> Arrays:
        """Return the inverse of `unpack_weights`."""
        found = dict(args)
        for stem in self._stems():
            found[stem.format("")] = ndarray.concatenate([found.pop(stem.format(gate)) for gate in self._gate_names])
        return found

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


__all__ = ["Arrays", "BaseRNNCell", "RNNParams", "as_sequence"]
