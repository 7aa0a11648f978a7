"""Run as a program, with live MXNet: evaluate a symbol on stored arrays. Imports nothing of graphir.

    live_child.py FOLDER

reads symbol.json and parameters.npz (a0, a1, ... named by parameters.json) from FOLDER and says its version in a line
of JSON on standard output. For every line on standard input it reads feeds.npz, feeds.json and outputs.json (the names
of wanted values) and answers, for each value, with a line of JSON and an .npy; then with an empty object, or an error.
Arrays that are missing are labels, which inference does not read: they are zeros. Values are computed in slices, so
that few of them are in memory at once.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

import numpy as np

SLICE_BYTES = 256 << 20
write_array: Any = np.lib.format.write_array


def import_mxnet() -> Any:
    """MXNet 1.9.1 wants aliases that NumPy has removed since."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alias in (bool, object, int, float, complex, str):
            if alias.__name__ not in vars(np):
                setattr(np, alias.__name__, alias)
    import mxnet  # noqa: TID251  this program runs where MXNet is

    return mxnet


def read_text(folder: str, name: str) -> str:
    """A file of text."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def wants_np_shape(symbol: str) -> bool:
    """Whether a symbol was written for np_shape semantics, which have tensors without axes or elements."""
    attributes = json.loads(symbol).get("attrs") or {}
    return bool(attributes.get("is_np_shape", ["int", 0])[1])


def read_json(folder: str, name: str) -> Any:
    """A file of JSON."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def read_arrays(folder: str, what: str) -> dict[str, Any]:
    """Stored arrays by name."""
    with np.load(os.path.join(folder, what + ".npz")) as archive:
        return {name: archive[f"a{index}"] for index, name in enumerate(read_json(folder, what + ".json"))}


def places(symbol: Any) -> dict[str, int]:
    """Where among the symbol's inner outputs each name stands; a name that comes again is `name#2`, and so on."""
    counts: dict[str, int] = {}
    found: dict[str, int] = {}
    for index, name in enumerate(symbol.list_outputs()):
        counts[name] = counts.get(name, 0) + 1
        found[name if counts[name] == 1 else f"{name}#{counts[name]}"] = index
    return found


def shapes_of(symbol: Any, arrays: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The shapes of arguments and states by name, and those of the outputs."""
    arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    known = {name: arrays[name].shape for name in arguments if name in arrays}
    argument_shapes, output_shapes, state_shapes = symbol.infer_shape(**known)
    if argument_shapes is None:
        unknown = [name for name in arguments if name not in arrays]
        raise ValueError("MXNet cannot infer the shapes of " + ", ".join(unknown) + ": feed them")
    pairs = zip([*arguments, *states], [*argument_shapes, *state_shapes])  # noqa: B905  old Pythons lack strict
    return dict(pairs), list(output_shapes)


def slices(symbol: Any, names: list[str], arrays: dict[str, Any]) -> list[tuple[list[str], Any]]:
    """The wanted values in groups of limited size, each with its symbol."""
    inner = symbol.get_internals()
    index = places(inner)
    absent = [name for name in names if name not in index]
    if absent:
        raise ValueError("the symbol has no output " + ", ".join(absent))
    if not names:
        return []
    whole = mx_group([inner[index[name]] for name in names])
    found: list[tuple[list[str], Any]] = []
    room = 0
    for name, shape in zip(names, shapes_of(whole, arrays)[1]):  # noqa: B905  old Pythons lack strict
        size = 8 * int(np.prod(shape))
        if not found or size > room:
            found.append(([], None))
            room = SLICE_BYTES
        found[-1][0].append(name)
        room -= size
    return [(group, mx_group([inner[index[name]] for name in group])) for group, _ in found]


def mx_group(symbols: list[Any]) -> Any:
    """Several symbols as one."""
    import mxnet  # noqa: TID251  this program runs where MXNet is

    return mxnet.sym.Group(symbols)


def evaluate(mx: Any, symbol: Any, parameters: dict[str, Any], folder: str, output: Any) -> None:
    """Answer one request."""
    feeds = {
        name: mx.nd.array(array, dtype=array.dtype) for name, array in read_arrays(folder, "feeds").items()
    }
    arrays = {**parameters, **feeds}
    for names, group in slices(symbol, read_json(folder, "outputs.json"), arrays):
        shapes, _ = shapes_of(group, arrays)

        def held(wanted: list[str], shapes: dict[str, Any] = shapes) -> dict[str, Any]:
            return {name: arrays[name] if name in arrays else mx.nd.zeros(shapes[name]) for name in wanted}

        bind = getattr(group, "bind", None) or group._bind  # MXNet 2.0 hides it
        executor = bind(
            mx.cpu(), held(group.list_arguments()), aux_states=held(group.list_auxiliary_states()), grad_req="null"
        )
        results = executor.forward(is_train=False)
        for name, result in zip(names, results):  # noqa: B905  old Pythons lack strict
            array = result.asnumpy()
            say(output, {"name": name})
            write_array(Pipe(output), array, allow_pickle=False)
        del executor, results


class Pipe:
    """A pipe that does not look like a file to numpy, which would ask for its position."""

    def __init__(self, pipe: Any) -> None:
        self.write = pipe.write


def say(output: Any, answer: dict[str, Any]) -> None:
    """One line of JSON."""
    output.write(json.dumps(answer).encode("ascii") + b"\n")


def last_line(error: BaseException) -> str:
    """The line of a message that says what happened: MXNet puts its own traceback before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:600] if lines else type(error).__name__


def main(folder: str) -> None:
    """Serve until standard input ends. What MXNet prints goes to standard error."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        mx = import_mxnet()
    except Exception as error:
        say(output, {"missing": type(error).__name__ + ": " + last_line(error)})
        output.flush()
        return
    say(output, {"version": mx.__version__})
    output.flush()
    symbol = parameters = None
    text = read_text(folder, "symbol.json")
    if mx.__version__.startswith("2."):
        mx.npx.reset_np()  # 2.0 begins with NumPy's semantics; the symbol says which it has
    if wants_np_shape(text):
        mx.util.set_np_shape(True)
    for _ in sys.stdin:
        try:
            if symbol is None:
                symbol = (getattr(mx.sym, "load_json", None) or mx.sym.fromjson)(text)
                stored = read_arrays(folder, "parameters")
                parameters = {name: mx.nd.array(array, dtype=array.dtype) for name, array in stored.items()}
            evaluate(mx, symbol, parameters or {}, folder, output)
            say(output, {})
        except Exception as error:
            say(output, {"error": last_line(error)})
        output.flush()


if __name__ == "__main__":
    main(sys.argv[1])
