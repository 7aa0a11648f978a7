# mypy: ignore-errors
# ruff: noqa: B905, C402, TID251, UP010, UP031
# This runs where MXNet is, in Python 2.7 too.
"""Record what an MXNet model computes, to hold a converted model against it elsewhere.

    python capture.py SYMBOL.json MODEL.params OUT.npz NAME:SHAPE ... [--feeds FILE.npz] [--seed N] [--outputs-only]

    python capture.py model-symbol.json model-0000.params capture.npz data:1,3,224,224

It needs nothing but MXNet (any version) and numpy. The inputs are random numbers (normal, from the seed), or the arrays
of FILE.npz by name. OUT.npz gets the arrays input:<name>, output:<index>:<name> and internal:<name>.
Then, where graphir is:

    graphir verify capture.npz model.onnx
"""

from __future__ import print_function

import io
import json
import os
import sys
import zipfile

import numpy as np


def import_mxnet():
    """Old MXNet wants aliases that newer numpy has removed; fused operators would give wrong inner values."""
    for alias in (bool, object, int, float, complex, str):
        if alias.__name__ not in vars(np):
            setattr(np, alias.__name__, alias)
    import mxnet

    if [int(number) for number in mxnet.__version__.split(".")[:2]] >= [1, 6]:  # 1.4 and 1.5 know no backend NONE
        os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"  # read when a symbol is bound
    else:
        os.environ.pop("MXNET_SUBGRAPH_BACKEND", None)
    return mxnet


def read_arguments(words):
    """Files, shapes by input name, and options."""
    files, shapes, feeds, seed, internals = [], {}, {}, 0, True
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--feeds":
            stored = np.load(words.pop(0))
            feeds = dict((name, stored[name]) for name in stored.files)
        elif word == "--seed":
            seed = int(words.pop(0))
        elif word == "--outputs-only":
            internals = False
        elif len(files) < 3:
            files.append(word)
        else:
            name, _, shape = word.rpartition(":")
            shapes[name] = tuple(int(size) for size in shape.split(","))
    if len(files) < 3 or not (shapes or feeds):
        sys.exit(__doc__)
    random = np.random.RandomState(seed)
    for name in sorted(shapes):
        if name not in feeds:
            feeds[name] = random.standard_normal(shapes[name]).astype("float32")
    return files, feeds, internals


def read_params(mx, path):
    """Arrays by name, without the prefixes arg: and aux:."""
    with open(path, "rb") as stream:
        is_npz = stream.read(2) == b"PK"  # as MXNet 2.0 writes them
    if is_npz:
        with np.load(path) as archive:
            stored = dict((name, mx.nd.array(archive[name], dtype=archive[name].dtype)) for name in archive.files)
    else:
        stored = mx.nd.load(path)
    return dict((name[4:] if name[:4] in ("arg:", "aux:") else name, array) for name, array in stored.items())


def wants_np_shape(symbol):
    """Whether the symbol was written for NumPy's shape semantics."""
    return bool(json.loads(symbol.tojson()).get("attrs", {}).get("is_np_shape", ["int", 0])[1])


def inner_values(symbol):
    """Names and symbols of everything that is computed; a name that comes again is name#2, and so on."""
    internals = symbol.get_internals()
    variables = set(symbol.list_arguments()) | set(symbol.list_auxiliary_states())
    counts, found = {}, []
    for index, name in enumerate(internals.list_outputs()):
        if name in variables:
            continue
        counts[name] = counts.get(name, 0) + 1
        found.append((name if counts[name] == 1 else "%s#%d" % (name, counts[name]), internals[index]))
    return found


def write_npz(path, named):
    """An .npz whose arrays keep their order, which numpy.savez does not see to in Python 2."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in named:
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array))
            archive.writestr(name + ".npy", member.getvalue())


def main(words):
    """Run the model and store everything."""
    (symbol_path, params_path, out), feeds, with_internals = read_arguments(words)
    mx = import_mxnet()
    symbol = mx.sym.load(symbol_path)
    if mx.__version__.startswith("2."):
        mx.npx.reset_np()  # 2.0 begins with NumPy's semantics; the symbol says which it has
        mx.util.set_np_shape(wants_np_shape(symbol))
    params = read_params(mx, params_path)
    outputs = symbol.list_outputs()
    inner = inner_values(symbol) if with_internals else []
    whole = mx.sym.Group([symbol] + [value for _, value in inner]) if inner else symbol
    arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    known = dict((name, feeds[name].shape) for name in arguments if name in feeds)
    argument_shapes, _, state_shapes = symbol.infer_shape(**known)
    if argument_shapes is None:
        sys.exit("the shapes of these inputs are needed too: %s" % [n for n in arguments if n not in params])
    shapes = dict(zip(arguments + states, list(argument_shapes) + list(state_shapes)))

    def held(names):
        arrays = {}
        for name in names:
            if name in feeds:
                arrays[name] = mx.nd.array(feeds[name], dtype=feeds[name].dtype)
            elif name in params:
                arrays[name] = params[name]
            else:
                print("no array for %r %s: zeros are taken (right for labels only)" % (name, shapes[name]))
                arrays[name] = mx.nd.zeros(shapes[name])
        return arrays

    bind = getattr(whole, "bind", None) or whole._bind  # MXNet 2.0 hides it
    executor = bind(mx.cpu(), held(arguments), aux_states=held(states), grad_req="null")
    results = [result.asnumpy() for result in executor.forward(is_train=False)]
    stored = [("input:" + name, array) for name, array in feeds.items() if name in arguments]
    stored += [
        ("internal:" + name, result) for (name, _), result in zip(inner, results[len(outputs) :]) if name not in outputs
    ]
    stored += [("output:%d:%s" % (index, name), results[index]) for index, name in enumerate(outputs)]
    write_npz(out, stored)
    print("MXNet %s: %d outputs and %d inner values in %s" % (mx.__version__, len(outputs), len(inner), out))


if __name__ == "__main__":
    main(sys.argv[1:])
