"""Random Keras models: Functional graphs of random layers with random attributes, several inputs and outputs.

Run as a program, with live Keras, it writes each model in all formats, with inputs and outputs by position, and the
names that a SavedModel has for them, in whose signature no order is kept:
    random_keras.py FOLDER MODULE FIRST COUNT        MODULE is keras, or tf_keras for version 2
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.tensorflow.random_layers import BY_RANK, EMBED, MERGE, Draw, Layers, sizes

BATCH = 3
LAYERS_AT_MOST = 7
FORMATS = ("keras", "h5")
INPUTS: Sequence[tuple[int, Callable[[Draw], tuple[int | None, ...]]]] = (
    (3, lambda r: (r.randint(5, 11), r.randint(5, 12), r.choice((1, 2, 3, 4)))),
    (3, lambda r: (r.choice((None, 5, 7, 8)), r.randint(1, 6))),
    (2, lambda r: (r.randint(1, 9),)),
    (2, lambda r: (r.choice((None, 4, 6)),)),  # words
    (1, lambda r: (r.randint(4, 6), r.randint(4, 7), r.randint(4, 6), r.choice((1, 2)))),
)
WORDS = 3


def draw_model(seed: int, keras: Any) -> Any | None:
    """The model of that number; None where Keras refuses all that was tried."""
    r = random.Random(seed)
    layers = Layers(keras.layers, keras)
    inputs, pool = [], []
    for place in range(r.choice((1, 1, 2, 3))):
        kind = r.choices(range(len(INPUTS)), [weight for weight, _ in INPUTS])[0]
        shape = INPUTS[kind][1](r)
        name = r.choice((None, None, f"{r.choice('zmab')}_{place}"))
        source = keras.Input(shape, dtype="int32" if kind == WORDS else "float32", name=name)
        inputs.append(source)
        pool.append(r.choice(EMBED)(r, layers)(source) if kind == WORDS else source)
    made: list[Any] = []
    for _ in range(r.randint(1, LAYERS_AT_MOST)):
        found = _grow(r, layers, pool)
        pool += found
        made += found
    loose = [held for held in pool if not any(held is source for source in inputs)]
    chosen = r.sample(made, min(len(made), r.choice((1, 1, 2, 3)))) if made else loose
    if not chosen:
        return None
    used = _sources(keras, chosen, inputs)
    return keras.Model(used, chosen) if used else None


def _sources(keras: Any, chosen: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The inputs that the outputs depend on, of which Keras asks to be told alone."""
    used = []
    for source in inputs:
        others = [other for other in inputs if other is not source]
        try:
            keras.Model(others, list(chosen))
        except (ValueError, KeyError, IndexError):
            used.append(source)
    return used


def _grow(r: Draw, layers: Layers, pool: Sequence[Any]) -> list[Any]:
    """The results of one more layer on what is there; nothing where Keras refuses it."""
    source = r.choice(pool) if r.random() < 0.4 else pool[-1]
    shape = sizes(source)
    if any(size == 0 for size in shape) or np.prod([size or 6 for size in shape]) > 4000:
        return []
    partners = [other for other in pool if other is not source and sizes(other) == shape]
    table = MERGE if partners and r.random() < 0.5 else BY_RANK.get(len(shape) + 1)
    if table is None:
        return []
    make = r.choice(list(table.values()))
    try:
        operands = [source, *r.sample(partners, min(len(partners), r.choice((1, 1, 2))))] if table is MERGE else source
        found = make(r, layers, operands)
    except (ValueError, TypeError, NotImplementedError, ZeroDivisionError):
        return []
    found = list(found) if isinstance(found, list | tuple) else [found]
    return [held for held in found if len(sizes(held)) == 0 or all(size != 0 for size in sizes(held))]


def set_weights(model: Any, seed: int) -> None:
    """Random elements of all weights, variances positive."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for weight in model.weights:
        held = np.asarray(weight)
        if held.dtype.kind != "f":
            continue
        drawn = generator.standard_normal(held.shape) * 0.5
        name = str(getattr(weight, "path", weight.name))
        weight.assign((np.abs(drawn) + 0.3 if "variance" in name else drawn).astype(held.dtype))


def feeds_of(model: Any, seed: int) -> list[NDArray[Any]]:
    """Inputs by position."""
    generator = np.random.Generator(np.random.PCG64(seed + 1))
    found = []
    for source in model.inputs:
        shape = [BATCH, *(size or 6 for size in tuple(source.shape)[1:])]
        if "int" in str(source.dtype):
            found.append(generator.integers(0, 5, shape).astype(np.int32))
        else:
            drawn = generator.standard_normal(shape)
            found.append((drawn * (generator.random([*shape[:-1], 1]) > 0.2)).astype(np.float32))
    return found


def results(model: Any, feeds: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """What Keras computes, by position."""
    found = model(list(feeds) if len(feeds) > 1 else feeds[0], training=False)
    return [np.asarray(value) for value in (found if isinstance(found, list | tuple) else [found])]


def save_frozen(model: Any, path: Path, feeds: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The model as a frozen graph, with the inputs x0, x1 and so on, and the outputs y0, y1; what that computes.

    It is not always what the model computes: version 3.15 lets TimeDistributed walk over the batch where the number of
    steps is open.
    """
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    def call(*given: Any) -> list[Any]:
        found = model(list(given) if len(given) > 1 else given[0], training=False)
        listed = found if isinstance(found, list | tuple) else [found]
        return [tf.identity(value, name=f"y{place}") for place, value in enumerate(listed)]

    specs = [
        tf.TensorSpec(source.shape, source.dtype, f"x{place}") for place, source in enumerate(model.inputs)
    ]
    traced = tf.function(call).get_concrete_function(*specs)
    frozen = convert_variables_to_constants_v2(traced, lower_control_flow=False)
    path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
    return [np.asarray(value) for value in tf.nest.flatten(frozen(*map(tf.constant, feeds)))]


def write(folder: Path, module: str, seed: int) -> str:
    """One model; says why there is none."""
    keras = import_module(module)
    keras.backend.clear_session()
    keras.utils.set_random_seed(seed)
    model = draw_model(seed, keras)
    if model is None:
        return "no layer could be made"
    set_weights(model, seed)
    feeds = feeds_of(model, seed)
    try:
        found = results(model, feeds)
    except Exception as error:  # the kernels' own refusals, such as channels first on CPUs
        return f"{type(error).__name__}: {str(error)[:200]}"
    if not all(np.isfinite(value).all() for value in found if value.dtype.kind == "f"):
        return "the results are not finite"
    for suffix in FORMATS:
        path = folder / f"{seed}.{suffix}"
        try:
            model.save(str(path))
        except (TypeError, ValueError, NotImplementedError):  # version 2 has no form for an Ellipsis, for one
            path.unlink(missing_ok=True)
    target = folder / f"{seed}.saved"
    names: tuple[list[str], list[str]]
    if module == "keras":
        model.export(str(target), verbose=False)
        names = [source.name for source in model.inputs], [f"output_{place}" for place in range(len(found))]
    else:
        model.save(str(target), save_format="tf")
        names = model.input_names, model.output_names
    frozen: list[NDArray[Any]] = []
    try:
        frozen = save_frozen(model, folder / f"{seed}.pb", feeds)
    except Exception:  # what TensorFlow itself cannot run (see `save_frozen`)
        (folder / f"{seed}.pb").unlink(missing_ok=True)
    arrays = {f"in{place}": value for place, value in enumerate(feeds)}
    arrays |= {f"out{place}": value for place, value in enumerate(found)}
    arrays |= {f"frozen{place}": value for place, value in enumerate(frozen)}
    np.savez(folder / f"{seed}.npz", saved_inputs=names[0], saved_outputs=names[1], **arrays)
    return ""


def main() -> None:
    """Write the models from FIRST on."""
    folder, module, first, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    import_module(module)
    gc.freeze()  # clearing a session looks for garbage, in all of TensorFlow
    for seed in range(first, first + count):
        reason = write(folder, module, seed)
        if reason:
            (folder / f"{seed}.none").write_text(reason)


if __name__ == "__main__":
    main()
