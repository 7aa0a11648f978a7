"""Run as a program, with live MXNet: evaluate a symbol on stored arrays. Imports nothing of graphir.

    live_child.py FOLDER

reads symbol.json, arrays.npz (a0, a1, ... named by names.txt) and outputs.txt (names of wanted values, empty: the
symbol's outputs) from FOLDER and writes results.npz (r0, r1, ... named by results.txt) and version.txt there. Arrays
that are missing are labels, which inference does not read: they are zeros.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import numpy as np


def import_mxnet() -> Any:
    """MXNet 1.9.1 wants aliases that NumPy has removed since."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alias in (bool, object, int, float, complex, str):
            if alias.__name__ not in vars(np):
                setattr(np, alias.__name__, alias)
    import mxnet  # noqa: TID251  this program runs where MXNet is

    return mxnet


def named_values(symbol: Any, wanted: list[str]) -> list[Any]:
    """The symbol's inner outputs of these names; a name that comes again is `name#2`, and so on."""
    internals = symbol.get_internals()
    counts: dict[str, int] = {}
    places: dict[str, int] = {}
    for index, name in enumerate(internals.list_outputs()):
        counts[name] = counts.get(name, 0) + 1
        places[name if counts[name] == 1 else f"{name}#{counts[name]}"] = index
    return [internals[places[name]] for name in wanted]


def main(folder: str) -> None:
    """Evaluate and store."""
    mx = import_mxnet()
    place = os.path.join
    with open(place(folder, "symbol.json")) as file:
        symbol = mx.sym.load_json(file.read())
    with open(place(folder, "names.txt")) as file:
        names = file.read().splitlines()
    with open(place(folder, "outputs.txt")) as file:
        wanted = file.read().splitlines()
    with np.load(place(folder, "arrays.npz")) as archive:
        arrays = {name: archive[f"a{index}"] for index, name in enumerate(names)}
    if wanted:
        symbol = mx.sym.Group(named_values(symbol, wanted))
    arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    known = {name: arrays[name].shape for name in arguments if name in arrays}
    argument_shapes, _, state_shapes = symbol.infer_shape(**known)
    pairs = zip([*arguments, *states], [*argument_shapes, *state_shapes])  # noqa: B905  old Pythons lack strict
    shapes = dict(pairs)

    def held(group: list[str]) -> dict[str, Any]:
        return {
            name: mx.nd.array(arrays[name], dtype=arrays[name].dtype) if name in arrays else mx.nd.zeros(shapes[name])
            for name in group
        }

    executor = symbol.bind(mx.cpu(), held(arguments), aux_states=held(states), grad_req="null")
    results = [result.asnumpy() for result in executor.forward(is_train=False)]
    np.savez(place(folder, "results.npz"), **{f"r{index}": result for index, result in enumerate(results)})
    with open(place(folder, "results.txt"), "w") as file:
        file.write("\n".join(wanted or symbol.list_outputs()))
    with open(place(folder, "version.txt"), "w") as file:
        file.write(mx.__version__)


if __name__ == "__main__":
    main(sys.argv[1])
