# mypy: ignore-errors
# ruff: noqa: B905, C402, TID251, UP010, UP020, UP031
# This runs where MXNet is, in Python 2.7 too.
"""Run as a program, with live MXNet of any version: evaluate a symbol on stored arrays. Imports nothing of graphir.

    child.py FOLDER

reads symbol.json and parameters.npz (a0, a1, ... named by parameters.json) from FOLDER and says its version in a line
of JSON on standard output. For every line on standard input it reads feeds.npz, feeds.json and outputs.json (the names
of wanted values) and answers, for each value, with a line of JSON and an .npy; then with an empty object, or an error.
Arrays that are missing are labels, which inference does not read: they are zeros. Values are computed in slices, so
that few of them are in memory at once.
"""

from __future__ import print_function

import io
import json
import os
import signal
import sys
import warnings

import numpy as np

SLICE_BYTES = 256 << 20


def import_mxnet():
    """MXNet's first versions want aliases that NumPy has removed since. The symbol is to be run as it is, not with
    fused operators: the backend that fuses nothing is known from 1.6 on, and to older ones a backend unknown is an
    error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alias in (bool, object, int, float, complex, str):
            if alias.__name__ not in vars(np):
                setattr(np, alias.__name__, alias)
    import mxnet

    end_where_it_crashes()
    if [int(number) for number in mxnet.__version__.split(".")[:2]] >= [1, 6]:
        os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"  # read when a symbol is bound
    else:
        os.environ.pop("MXNET_SUBGRAPH_BACKEND", None)
    return mxnet


def end_where_it_crashes():
    """MXNet's handlers of fatal signals allocate memory, and after an overrun of the heap they wait for ever."""
    for name in ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def native(name):
    """A text as Python 2 has names: as bytes."""
    return name if isinstance(name, str) else name.encode("utf-8")


def read_text(folder, name):
    """A file of text."""
    with io.open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def wants_np_shape(symbol):
    """Whether a symbol was written for np_shape semantics, which have tensors without axes or elements."""
    attributes = json.loads(symbol).get("attrs") or {}
    return bool(attributes.get("is_np_shape", ["int", 0])[1])


def read_names(folder, name):
    """The names in a file of JSON."""
    return [native(text) for text in json.loads(read_text(folder, name))]


def read_arrays(folder, what):
    """Stored arrays by name."""
    archive = np.load(os.path.join(folder, what + ".npz"))
    try:
        return dict((name, archive["a%d" % index]) for index, name in enumerate(read_names(folder, what + ".json")))
    finally:
        archive.close()


def places(symbol):
    """Where among the symbol's inner outputs each name stands; a name that comes again is `name#2`, and so on."""
    counts, found = {}, {}
    for index, name in enumerate(symbol.list_outputs()):
        counts[name] = counts.get(name, 0) + 1
        found[name if counts[name] == 1 else "%s#%d" % (name, counts[name])] = index
    return found


def shapes_of(symbol, arrays):
    """The shapes of arguments and states by name, and those of the outputs."""
    arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    known = dict((name, arrays[name].shape) for name in arguments if name in arrays)
    argument_shapes, output_shapes, state_shapes = symbol.infer_shape(**known)
    if argument_shapes is None:
        unknown = [name for name in arguments if name not in arrays]
        raise ValueError("MXNet cannot infer the shapes of " + ", ".join(unknown) + ": feed them")
    pairs = zip(list(arguments) + list(states), list(argument_shapes) + list(state_shapes))
    return dict(pairs), list(output_shapes)


def slices(symbol, names, arrays):
    """The wanted values in groups of limited size, each with its symbol."""
    inner = symbol.get_internals()
    index = places(inner)
    absent = [name for name in names if name not in index]
    if absent:
        raise ValueError("the symbol has no output " + ", ".join(absent))
    if not names:
        return []
    whole = mx_group([inner[index[name]] for name in names])
    found = []
    room = 0
    for name, shape in zip(names, shapes_of(whole, arrays)[1]):
        size = 8 * int(np.prod(shape))
        if not found or size > room:
            found.append(([], None))
            room = SLICE_BYTES
        found[-1][0].append(name)
        room -= size
    return [(group, mx_group([inner[index[name]] for name in group])) for group, _ in found]


def mx_group(symbols):
    """Several symbols as one."""
    import mxnet

    return mxnet.sym.Group(symbols)


def evaluate(mx, symbol, parameters, folder, output):
    """Answer one request."""
    arrays = dict(parameters)
    for name, array in read_arrays(folder, "feeds").items():
        arrays[name] = mx.nd.array(array, dtype=array.dtype)
    for names, group in slices(symbol, read_names(folder, "outputs.json"), arrays):
        shapes, _ = shapes_of(group, arrays)

        def held(wanted, shapes=shapes):
            return dict((name, arrays[name] if name in arrays else mx.nd.zeros(shapes[name])) for name in wanted)

        bind = getattr(group, "bind", None) or group._bind  # MXNet 2.0 hides it
        executor = bind(
            mx.cpu(), held(group.list_arguments()), aux_states=held(group.list_auxiliary_states()), grad_req="null"
        )
        results = executor.forward(is_train=False)
        for name, result in zip(names, results):
            array = result.asnumpy()
            say(output, {"name": name})
            np.lib.format.write_array(Pipe(output), array, allow_pickle=False)
        del executor, results


class Pipe:
    """A pipe that does not look like a file to numpy, which would ask for its position."""

    def __init__(self, pipe):
        self.write = pipe.write


def say(output, answer):
    """One line of JSON."""
    output.write(json.dumps(answer).encode("ascii") + b"\n")


def told(error):
    """What is said of an error: the line of its message that says what happened, since MXNet puts its own traceback
    before it; and whether there was too little memory."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[-1][:600] if lines else type(error).__name__
    if isinstance(error, (KeyError, TypeError, AttributeError)):  # the message alone is a name only
        text = "%s: %s" % (type(error).__name__, text)
    return {"error": text, "memory": isinstance(error, MemoryError)}


def main(folder):
    """Serve until standard input ends. What MXNet prints goes to standard error."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        mx = import_mxnet()
    except Exception as error:
        say(output, {"missing": type(error).__name__ + ": " + told(error)["error"]})
        output.flush()
        return
    say(output, {"version": mx.__version__})
    output.flush()
    symbol = parameters = None
    text = read_text(folder, "symbol.json")
    while sys.stdin.readline():
        try:
            if symbol is None:
                symbol, parameters = opened(mx, text, folder)
            evaluate(mx, symbol, parameters, folder, output)
            say(output, {})
        except Exception as error:
            say(output, told(error))
        output.flush()


def opened(mx, text, folder):
    """The symbol and its parameters, under the semantics that it was written for."""
    if mx.__version__.startswith("2."):
        mx.npx.reset_np()  # 2.0 begins with NumPy's semantics; the symbol says which it has
    if wants_np_shape(text):
        if not hasattr(getattr(mx, "util", None), "set_np_shape"):
            raise ValueError("MXNet %s has no np_shape semantics, which the symbol was written for" % mx.__version__)
        mx.util.set_np_shape(True)
    symbol = (getattr(mx.sym, "load_json", None) or mx.sym.fromjson)(native(text))
    stored = read_arrays(folder, "parameters")
    return symbol, dict((name, mx.nd.array(array, dtype=array.dtype)) for name, array in stored.items())


if __name__ == "__main__":
    main(sys.argv[1])
