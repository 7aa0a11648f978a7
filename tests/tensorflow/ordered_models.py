"""Run as a program, with live TensorFlow: models of several inputs and outputs, and what they give by position.

Each model lies in a folder with `arrays.npz`: `in_0`, ... are the inputs in the order of the model's own `inputs` (for
SavedModels those of the signature's function), `out_0`, ... the outputs in its order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("zz", "b", "m", "a")
Structure = Callable[[dict[str, Any]], Any]


def arrays() -> dict[str, Any]:
    """An array for each input, all of one shape."""
    generator = np.random.default_rng(5)
    return {name: generator.normal(size=(2, 3)).astype(np.float32) for name in NAMES}


def body(keras: Any, held: dict[str, Any]) -> tuple[Any, Any]:
    """Two values to which every input matters, each in its own way."""
    layers = keras.layers
    first = layers.Subtract(name="o1")([layers.Dense(3, name="d1")(held["m"]), held["a"]])
    second = layers.Subtract(name="o0")([layers.Multiply()([held["b"], held["zz"]]), layers.Dense(3)(held["a"])])
    return first, second


def keras_models(keras: Any) -> dict[str, tuple[Any, Structure]]:
    """Functional models by name, with what they are called on."""
    structures: dict[str, Structure] = {
        "listed": lambda held: [held[name] for name in NAMES],
        "mapped": dict,
        "nested": lambda held: [held["zz"], {"k": held["b"], "c": [held["m"], held["a"]]}],
    }
    found: dict[str, tuple[Any, Structure]] = {}
    for name, structure in structures.items():
        held = {key: keras.Input((3,), name=key) for key in NAMES}
        one, other = body(keras, held)
        outputs = {"q": one, "c": other} if name == "mapped" else [one, other]
        found[name] = keras.Model(structure(held), outputs), structure
    held = {key: keras.Input((3,), name=key) for key in NAMES}
    difference = keras.layers.Subtract()([held["a"], held["zz"]])
    found["unused"] = keras.Model([held["zz"], held["b"], held["a"]], difference), lambda x: [x["zz"], x["b"], x["a"]]
    held = {key: keras.Input((3,), name=key) for key in NAMES}
    inner = found["mapped"][0]({key: held[key] for key in ("b", "a", "zz", "m")})
    found["inside"] = keras.Model(structures["listed"](held), [inner["q"], inner["c"]]), structures["listed"]
    return found


def flat(structure: Any) -> list[Any]:
    """The leaves as Keras and TensorFlow order them: mappings by sorted keys."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flat(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for inner in structure for leaf in flat(inner)]
    return [structure]


def store(folder: Path, inputs: list[Any], outputs: list[Any]) -> None:
    """Write what goes in and what comes out, by position."""
    found = {f"in_{place}": np.asarray(array) for place, array in enumerate(inputs)}
    found |= {f"out_{place}": np.asarray(array) for place, array in enumerate(outputs)}
    np.savez(folder / "arrays.npz", **found)


def write_keras(folder: Path) -> None:
    """The Functional models, in both file formats."""
    import keras

    keras.utils.set_random_seed(0)
    for name, (model, structure) in keras_models(keras).items():
        place = folder / name
        place.mkdir()
        for suffix in ("keras", "h5"):
            model.save(str(place / f"model.{suffix}"))
        outputs = flat(model(structure(arrays())))
        store(place, [arrays()[value.name.split(":")[0]] for value in model.inputs], outputs)


def write_functions(folder: Path) -> None:
    """Functions of TensorFlow 2 with many results, and a signature of TensorFlow 1."""
    import tensorflow as tf

    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((2, 3), name=name) for name in NAMES])
        def many(self, zz: Any, b: Any, m: Any, a: Any) -> Any:
            return tuple(zz * float(place) - b + m * a for place in range(12))

    module = Module()
    tf.saved_model.save(module, str(folder / "many" / "model"), signatures=module.many)
    inputs = tf.saved_model.load(str(folder / "many" / "model")).signatures["serving_default"].inputs
    ordered = [arrays()[value.name.split(":")[0]] for value in inputs if value.dtype != tf.resource]
    store(folder / "many", ordered, list(module.many(**arrays())))
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        held = {name: v1.placeholder(tf.float32, (2, 3), name=f"of_{name}") for name in NAMES}
        outputs = {"c": held["zz"] - held["b"], "q": held["m"] - 2.0 * held["a"]}
        v1.saved_model.simple_save(session, str(folder / "version_1" / "model"), held, outputs)
        results = session.run(list(outputs.values()), {held[name]: array for name, array in arrays().items()})
        store(folder / "version_1", list(arrays().values()), results)


def main() -> None:
    """Write everything."""
    folder = Path(sys.argv[1])
    write_keras(folder)
    write_functions(folder)


if __name__ == "__main__":
    main()
