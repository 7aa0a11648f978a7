"""Control flow in numpy: the symbols inside a node, run one after the other.

`attributes[SYMBOLS]` holds a function for each symbol inside the node, which takes the arrays of its variables in order
and gives the arrays of its heads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphir.converters.mxnet.reference.contract import (
    NP_SHAPE,
    SYMBOLS,
    Array,
    Attributes,
    Reference,
    require,
)

Inside = Callable[[Sequence[Array]], list[Array]]


def foreach(attributes: Attributes, *inputs: Array) -> tuple[Array, ...]:
    """Return the outputs of the symbol for each slice of the data along axis 0, stacked; then the last states."""
    body: Inside = attributes[SYMBOLS][0]
    data_places, state_places = attributes["in_data_locs"], attributes["in_state_locs"]
    count, split = len(data_places), attributes["num_out_data"]
    data, states = inputs[:count], list(inputs[count : count + len(state_places)])
    kept = dict(zip(attributes["remain_locs"], inputs[count + len(state_places) :], strict=True))
    lengths = {array.shape[0] for array in data}
    require(len(lengths) == 1 and lengths != {0}, f"data of {sorted(lengths)} slices")
    rows: list[list[Array]] = [[] for _ in range(split)]
    for turn in range(lengths.pop()):
        given = dict(kept)
        given |= zip(data_places, (_element(array, turn, attributes) for array in data), strict=True)
        given |= zip(state_places, states, strict=True)
        result = body([given[index] for index in sorted(given)])
        states = result[split:]
        for held, array in zip(rows, result, strict=False):
            held.append(array)
    return (*(np.stack(held) for held in rows), *states)


def _element(array: Array, turn: int, attributes: Attributes) -> Array:
    """Return a slice; without numpy's shapes that of a vector keeps an axis."""
    if array.ndim == 1 and not attributes.get(NP_SHAPE):
        return array[turn : turn + 1]
    return np.asarray(array[turn])


def while_loop(attributes: Attributes, *inputs: Array) -> tuple[Array, ...]:
    """Return the outputs of the function while the condition holds, stacked and filled with 0 up to `max_iterations`;
    then the last loop variables. MXNet leaves the rows behind the last iteration undefined."""
    condition, function = attributes[SYMBOLS]
    indices, split = attributes["func_input_locs"], attributes["num_out_data"]
    variables = [indices[index] for index in attributes["func_var_locs"]]
    now = dict(enumerate(inputs))
    rows: list[list[Array]] = [[] for _ in range(split)]
    turn = 0
    while turn < attributes["max_iterations"]:
        (goes_on,) = condition([now[index] for index in attributes["cond_input_locs"]])
        if not goes_on.any():
            break
        result = function([now[index] for index in indices])
        for held, array in zip(rows, result, strict=False):
            held.append(array)
        now |= zip(variables, result[split:], strict=True)
        turn += 1
    require(turn > 0 or split == 0, "no iteration: nothing says what shape the outputs have")
    missing = attributes["max_iterations"] - turn
    filled = [np.concatenate([np.stack(held), np.zeros((missing, *held[0].shape), held[0].dtype)]) for held in rows]
    return (*filled, *(now[index] for index in variables))


def cond(attributes: Attributes, *inputs: Array) -> tuple[Array, ...]:
    """Return what the branch gives that the first symbol chooses."""
    predicate, *branches = attributes[SYMBOLS]
    (chosen,) = predicate([inputs[index] for index in attributes["cond_input_locs"]])
    require(chosen.size == 1, f"the condition has {chosen.size} elements")
    slot, name = (0, "then") if chosen.any() else (1, "else")
    return tuple(branches[slot]([inputs[index] for index in attributes[f"{name}_input_locs"]]))


OPERATORS: dict[str, Reference] = {"_cond": cond, "_foreach": foreach, "_while_loop": while_loop}
