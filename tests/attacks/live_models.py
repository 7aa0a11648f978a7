"""Run as a program, with live TensorFlow: write models that do more than compute, if they are let.

    live_models.py FOLDER

Each computes y = 2 x, and would write the file FOLDER/NAME.written when it is loaded or run. Then they are loaded and
run as a child of graphir's does it: FOLDER/program names its program, FOLDER/allowed.json holds what it may run. What
came of it is written to FOLDER/outcomes.json, and what TensorFlow says of its operators.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any

import h5py
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.client import pywrap_tf_session

v1 = tf.compat.v1


def write(folder: str, name: str) -> tf.Operation:
    """The operation that must not run."""
    return tf.raw_ops.WriteFile(filename=os.path.join(folder, name + ".written"), contents="written")


def doubled(x: tf.Tensor) -> tf.Tensor:
    """y = 2 x."""
    return tf.identity(2.0 * x, name="y")


def frozen(folder: str, name: str, build: object) -> None:
    """A GraphDef of what `build` makes of x."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, (3, 4), name="x")
        build(x)  # type: ignore[operator]
    with open(os.path.join(folder, name + ".pb"), "wb") as file:
        file.write(graph.as_graph_def().SerializeToString())


def in_control(folder: str) -> None:
    """The operation is a control input of the result."""

    def build(x: tf.Tensor) -> None:
        with tf.control_dependencies([write(folder, "control")]):
            doubled(x)

    frozen(folder, "control", build)


def in_function(folder: str) -> None:
    """The operation stands in a function that a function calls."""

    @tf.function(autograph=False)
    def inner(x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([write(folder, "function")]):
            return x + 0.0

    @tf.function(autograph=False)
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x) * 2.0

    frozen(folder, "function", lambda x: tf.identity(outer(x), name="y"))


def in_operators_name(folder: str) -> None:
    """A function of the library is called as an operator that the graph has."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, (3, 4), name="x")
        tf.identity(tf.nn.relu(x) * 2.0, name="y")
    held = graph.as_graph_def()

    @tf.function(autograph=False)
    def body(features: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([write(folder, "shadow")]):
            return features + 0.0

    function = body.get_concrete_function(tf.TensorSpec((3, 4), tf.float32)).function_def
    function.signature.name = "Relu"
    held.library.function.append(function)
    with open(os.path.join(folder, "shadow.pb"), "wb") as file:
        file.write(held.SerializeToString())


def in_python(folder: str) -> None:
    """A call of Python is a control input of the result."""

    def build(x: tf.Tensor) -> None:
        with tf.control_dependencies([v1.py_func(np.copy, [x], tf.float32)]):
            doubled(x)

    frozen(folder, "python", build)


def in_reading(folder: str) -> None:
    """A file is read while the shapes of the graph are found out, and tells the size of the result."""

    def build(x: tf.Tensor) -> None:
        held = tf.io.decode_raw(tf.io.read_file(os.path.join(folder, "secret")), tf.uint8)
        with tf.control_dependencies([tf.fill(tf.cast(held, tf.int32)[:2], 1.0)]):
            doubled(x)

    frozen(folder, "reading", build)


def restored(path: str) -> tf.Tensor:
    """A variable of a checkpoint that the graph names."""
    return tf.raw_ops.RestoreV2(
        prefix=path, tensor_names=["factor"], shape_and_slices=[""], dtypes=[tf.float32]
    )[0]  # fmt: skip


def table(path: str) -> tf.Operation:
    """A table that is filled with the lines of a file."""
    handle = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    return tf.raw_ops.InitializeTableFromTextFileV2(
        table_handle=handle, filename=path, key_index=-2, value_index=-1
    )  # fmt: skip


def whole_file(path: str) -> tf.Tensor:
    """What a reader takes from a queue of names."""
    queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.string])
    with tf.control_dependencies([tf.raw_ops.QueueEnqueueV2(handle=queue, components=[path])]):
        return tf.raw_ops.ReaderReadV2(reader_handle=tf.raw_ops.WholeFileReaderV2(), queue_handle=queue).value


# How graphs read files, by the operator that is refused first.
READERS: dict[str, Callable[[str], Any]] = {
    "RestoreV2": restored,
    "Restore": lambda path: tf.raw_ops.Restore(file_pattern=path, tensor_name="factor", dt=tf.float32),
    "RestoreSlice": lambda path: tf.raw_ops.RestoreSlice(
        file_pattern=path, tensor_name="factor", shape_and_slice="", dt=tf.float32
    ),
    "ReadFile": tf.io.read_file,
    "MatchingFiles": lambda path: tf.raw_ops.MatchingFiles(pattern=path),
    "ImmutableConst": lambda path: tf.raw_ops.ImmutableConst(dtype=tf.uint8, shape=[6], memory_region_name=path),
    "LoadAndRemapMatrix": lambda path: tf.raw_ops.LoadAndRemapMatrix(
        ckpt_path=path, old_tensor_name="factor", row_remapping=[0], col_remapping=[0], initializing_values=[],
        num_rows=1, num_cols=1,
    ),
    "GenerateVocabRemapping": lambda path: tf.raw_ops.GenerateVocabRemapping(
        new_vocab_file=path, old_vocab_file=path, new_vocab_offset=0, num_new_vocab=1
    ).remapping,
    "InitializeTableFromTextFileV2": table,
    "WholeFileReaderV2": whole_file,
    "TextLineDataset": lambda path: tf.raw_ops.TextLineDataset(filenames=path, compression_type="", buffer_size=0),
    "TFRecordDataset": lambda path: tf.raw_ops.TFRecordDataset(filenames=path, compression_type="", buffer_size=0),
    "FixedLengthRecordDataset": lambda path: tf.raw_ops.FixedLengthRecordDataset(
        filenames=path, header_bytes=0, record_bytes=1, footer_bytes=0, buffer_size=0
    ),
}  # fmt: skip


def readers(folder: str) -> None:
    """Each way of reading, in the graph, in a function that a function calls, and in the body of a loop."""
    path = os.path.join(folder, "secret")

    def body(read: Callable[[str], Any], x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([read(path)]):
            return x + 0.0

    for name, read in READERS.items():
        inner = tf.function(partial(body, read), autograph=False)
        outer = tf.function(inner, autograph=False)
        looped = partial(tf.while_loop, lambda x: tf.reduce_sum(x) < 0.0, lambda x, inner=inner: [inner(x)])
        places: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
            "graph": partial(body, read), "function": outer,
            "loop": tf.function(lambda x, looped=looped: looped([x])[0], autograph=False),
        }  # fmt: skip
        for place, compute in places.items():
            frozen(folder, f"{name} in a {place}", lambda x, compute=compute: doubled(compute(x)))


def printing(folder: str) -> None:
    """A print into a file."""

    def build(x: tf.Tensor) -> None:
        with tf.control_dependencies([tf.print(x, output_stream="file://" + os.path.join(folder, "print.written"))]):
            doubled(x)

    frozen(folder, "print", build)


def unused(folder: str) -> None:
    """The operation stands where no result needs it."""

    def build(x: tf.Tensor) -> None:
        doubled(x)
        write(folder, "unused")

    frozen(folder, "unused", build)


def old_saved_model(folder: str, name: str, *operations: str) -> None:
    """A SavedModel of TensorFlow 1 with a variable, and the operation as what initialises it or as a control input."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, (3, 4), name="x")
        factor = v1.get_variable("factor", initializer=2.0)
        y = tf.multiply(x, factor, name="y")
        written = write(folder, name)
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(os.path.join(folder, name))
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        given = dict.fromkeys(operations, written)
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, **given)
        builder.save()


def restoring(folder: str) -> None:
    """What restores the variables of a SavedModel waits for the operation. Nothing of it is run."""
    old_saved_model(folder, "restoring")
    path = os.path.join(folder, "restoring", "saved_model.pb")
    with open(path, "rb") as file:
        model = saved_model_pb2.SavedModel.FromString(file.read())
    meta = model.meta_graphs[0]
    written = next(node.name for node in meta.graph_def.node if node.op == "WriteFile")
    restore = next(node for node in meta.graph_def.node if node.name == meta.saver_def.restore_op_name)
    restore.input.append("^" + written)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def elsewhere(folder: str) -> None:
    """The variables of a SavedModel come from a checkpoint that the graph names itself."""
    old_saved_model(folder, "elsewhere")
    path = os.path.join(folder, "elsewhere", "saved_model.pb")
    with open(path, "rb") as file:
        model = saved_model_pb2.SavedModel.FromString(file.read())
    nodes = model.meta_graphs[0].graph_def.node
    name = nodes.add(name="secret", op="Const")
    name.attr["dtype"].type = tf.string.as_datatype_enum
    name.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(os.path.join(folder, "control", "variables")))
    for node in nodes:
        if node.op == "RestoreV2":
            node.input[0] = "secret"
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


class Initialised(tf.Module):
    """A module with a table that is filled, when the module is loaded, by reading a file."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.factor = tf.Variable(2.0, name="factor")
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                os.path.join(folder, "secret"), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            ), -1,
        )  # fmt: skip

    @tf.function(input_signature=[tf.TensorSpec((3, 4), tf.float32, "x")])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """y = 2 x."""
        return {"y": x * self.factor}


def keras_files(folder: str) -> None:
    """Keras models whose first layer is turned, in the file, into one that runs code: a Lambda, or a foreign class."""
    keras = tf.keras
    layers = [keras.Input((4,)), keras.layers.Dense(4, name="first"), keras.layers.Dense(2, name="second")]
    model = keras.Sequential(layers)
    for suffix in (".keras", ".h5"):
        model.save(os.path.join(folder, "honest" + suffix))
    lambda_ = {"module": "keras.layers", "class_name": "Lambda", "config": {"name": "first", "function": "os.system"}}
    foreign = {"module": "os", "class_name": "Dense", "registered_name": None}
    own = {"module": "keras.layers", "class_name": "Dense", "registered_name": "Custom>Dense"}
    function = {"class_name": "function", "config": "enable_unsafe_deserialization", "module": "keras.config"}
    unsafe = {"config": {"activation": function}}
    code = {"module": "builtins", "class_name": "function", "config": "exec", "registered_name": "exec"}
    nested = {"optimizer": {"module": "os", "class_name": "system", "config": {"command": "touch nested.written"}}}
    changes: dict[str, dict[str, Any]] = {
        "lambda": lambda_, "module": foreign, "custom": own, "unsafe": unsafe,
        "compiled": {"compile_config": {**nested, "loss": code}},
        "built": {"build_config": {"input_shape": [7, 9, nested]}},
    }  # fmt: skip
    for name, change in changes.items():
        with zipfile.ZipFile(os.path.join(folder, "honest.keras")) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        parts["config.json"] = json.dumps(changed(json.loads(parts["config.json"]), change)).encode()
        with zipfile.ZipFile(os.path.join(folder, name + ".keras"), "w") as archive:
            for part, data in parts.items():
                archive.writestr(part, data)
        with open(os.path.join(folder, "honest.h5"), "rb") as source:
            data = source.read()
        with open(os.path.join(folder, name + ".h5"), "wb") as target:
            target.write(data)
        with h5py.File(os.path.join(folder, name + ".h5"), "r+") as held:
            held.attrs["model_config"] = json.dumps(changed(json.loads(held.attrs["model_config"]), change))


def changed(model: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The configuration with the first dense layer's entry changed."""
    entry = next(layer for layer in model["config"]["layers"] if layer["class_name"] == "Dense")
    entry |= {**change, "config": {**entry["config"], **change.get("config", {})}}
    return model


def main(folder: str) -> None:
    """Write them all."""
    with open(os.path.join(folder, "secret"), "w") as file:
        file.write("secret\n")
    for build in (in_control, in_function, in_operators_name, in_python, in_reading, readers, printing, unused):
        build(folder)
    old_saved_model(folder, "main_op", "main_op")
    old_saved_model(folder, "legacy_init_op", "legacy_init_op")
    restoring(folder)
    elsewhere(folder)
    module = Initialised(folder)
    tf.saved_model.save(module, os.path.join(folder, "initialised"))
    keras_files(folder)
    held = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    outcomes: dict[str, Any] = {
        "stateful operators": [operator.name for operator in held.op if operator.is_stateful],
        "texts": {operator.name: texts(operator) for operator in held.op},
    }
    with open(os.path.join(folder, "program")) as file:
        child = runpy.run_path(file.read())
    with open(os.path.join(folder, "allowed.json")) as file:
        allowed = json.load(file)
    for name in sorted(os.listdir(folder)):
        if name.endswith((".pb", ".keras", ".h5")) or os.path.isdir(os.path.join(folder, name)):
            outcomes[name] = outcome(child, allowed, folder, name)
    with open(os.path.join(folder, "outcomes.json"), "w") as file:
        json.dump(outcomes, file)


def texts(operator: Any) -> list[str]:
    """The inputs and attributes of an operator that are texts."""
    inputs = [given.name for given in operator.input_arg if given.type == tf.string.as_datatype_enum]
    return inputs + [attribute.name for attribute in operator.attr if attribute.type in ("string", "list(string)")]


def outcome(child: dict[str, Any], allowed: dict[str, Any], folder: str, name: str) -> str:
    """The first row of what a model computes of ones, or the error."""
    path = os.path.join(folder, name)
    kind = "keras" if name.endswith((".keras", ".h5")) else "graph" if name.endswith(".pb") else "saved_model"
    x, y = ("input:0", "output:0") if kind == "keras" else ("x:0", "y:0")
    if kind == "saved_model":
        path = os.path.join(path, "saved_model.pb")
        with open(path, "rb") as file:
            meta = child["served"](saved_model_pb2.SavedModel.FromString(file.read()))
        signature = meta.signature_def["serving_default"]
        x, y = signature.inputs["x"].name, signature.outputs["y"].name
    np.save(os.path.join(folder, "0.npy"), np.float32(2))
    try:
        stated = {**allowed, "wanted": [y], "feeds": {x: "float32"}, "state": [], "variables": ["factor"]}
        session = child["open_session"](tf, kind, path, stated, folder)
        (found,) = session.run([y], {x: np.ones((3, 4), np.float32)})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return str(found[:1].tolist())


if __name__ == "__main__":
    main(sys.argv[1])
