# mypy: ignore-errors
# ruff: noqa: B905, UP032
# This runs where TensorFlow is, in Python 3.5 too.
"""Run as a program, with live TensorFlow: evaluate a model on stored arrays. Imports nothing of graphir.

    child.py FOLDER KIND MODEL

MODEL is a file, KIND what it holds: `graph` (a GraphDef), `saved_model`, `meta` (a MetaGraphDef) or `keras` (.keras or
.h5). FOLDER holds allowed.json: `operators`, and for Keras `classes` and `functions`, that may run; the tensors that
may be `wanted`, the dtypes of those that are fed as `feeds`, the variables that are set before a run and read behind it
as `state` (fed and fetched as `state:NAME`), whether functions are put in place of their calls (`inline`), and the
`variables` of a checkpoint, whose values lie in FOLDER as 0.npy and so on. Nothing of the model is run, not even
imported, that these do not need or that is not allowed, nor what it says to do when it is loaded, and no other file of
it is read.
The program says its version in a line of JSON on standard output. For every line on standard input it
reads feeds.npz and request.json from FOLDER (`feeds`: the tensors that the arrays are for; `fetches`: those that are
wanted) and answers, for each, with a line of JSON and an .npy; then with an empty object, or an error.
"""

import io
import json
import os
import sys
import zipfile
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location

import numpy as np

AT_ONCE = 32
CALLS = ("PartitionedCall", "StatefulPartitionedCall")
write_array = np.lib.format.write_array


class GraphSession:
    """A graph in a session. `feeds` says where what is fed for a tensor goes; `state` has for each variable what it is
    fed at, what sets and what reads it. Whatever is fetched, the `outputs` are computed, so that it is set as they do.
    """

    def __init__(self, session, feeds, state, outputs):
        self._session = session
        self._feeds = feeds
        self._state = state
        self._outputs = outputs

    def run(self, fetches, feeds):
        """Return the tensors, and what variables hold afterwards."""
        fed = {self._feeds[name]: array for name, array in feeds.items() if name not in self._state}
        for name, (feed, setting, _) in self._state.items():
            if name in feeds:
                self._session.run(setting, {feed: feeds[name]})
        plain = [self._feeds.get(name, name) for name in fetches if name not in self._state]
        further = self._outputs if self._state else []
        values = dict(zip(plain, self._session.run(plain + further, fed)))
        for name in fetches:
            if name in self._state:
                values[name] = self._session.run(self._state[name][2])
        return [values[self._feeds.get(name, name)] for name in fetches]


def state_of(tf, graph, names):
    """Return by variable's name what its value is fed at, what sets it to that, and what reads it."""
    state = {}
    with graph.as_default():
        for name in names:
            variable = graph.get_tensor_by_name(name + ":0")
            operation = variable.op
            dtype = tf.as_dtype(operation.get_attr("dtype"))
            feed = tf.compat.v1.placeholder(dtype)
            if variable.dtype == tf.resource:
                setting = tf.raw_ops.AssignVariableOp(resource=variable, value=feed)
                reading = tf.raw_ops.ReadVariableOp(resource=variable, dtype=dtype)
            else:
                setting = tf.raw_ops.Assign(ref=variable, value=feed, validate_shape=False).op
                reading = variable
            state["state:" + name] = feed, setting, reading
    return state


class Keras:
    """A Keras model, to be run as a session is: feeds are `input:0` and so on, fetches `output:0`.

    `layer:NAME` is the first result of a layer's first call, of one inside of another model with that one's name.
    Keras makes it of the configuration that passed the checks, not of the file, of which it reads the weights alone.
    Files of versions 1 and 2 are opened by tf_keras, which is version 2, where it is installed: version 3 refuses some,
    and computes others differently.
    """

    def __init__(self, path, allowed):
        version, config = keras_model(path)
        config = checks().check_keras(config, frozenset(allowed["classes"]), frozenset(allowed["functions"]))
        package = keras(version < 3 and find_spec("tf_keras") is not None)
        kind = package.Sequential if config["class_name"] == "Sequential" else package.Model
        self._model = kind.from_config(config["config"])
        self._model.load_weights(path)

        self._state = {"state:" + name: self._find_state(name) for name in allowed["state"]}
        self._wanted = frozenset()
        self._seen = {}
        self._watch(self._model, "")

    def _watch(self, model, prefix):
        """Keep what the layers of a model give, where it is wanted."""
        for layer in getattr(model, "operations", model.layers):
            if hasattr(layer, "layers"):
                self._watch(layer, prefix + layer.name + "/")
            layer.call = self._make_recorder(layer.call, "layer:" + prefix + layer.name)

    def _make_recorder(self, call, name):
        def recording(*args, **kwargs):
            result = call(*args, **kwargs)
            if name in self._wanted and name not in self._seen:
                self._seen[name] = import_module("tensorflow").nest.flatten(result)[0]
            return result

        return recording

    def _find_state(self, name):
        """Return the variable that is a state of a layer, as `layer/state_0`; of two directions the first one's come
        first."""
        layer = self._model
        *path, number = name.split("/")
        for part in path:
            layer = layer.get_layer(part)
        nest = import_module("tensorflow").nest
        directions = [getattr(layer, side) for side in ("forward_layer", "backward_layer") if hasattr(layer, side)]
        states = [state for direction in directions or [layer] for state in nest.flatten(direction.states)]
        return states[int(number[len("state_"):])]

    def run(self, fetches, feeds):
        """Return the numbered outputs, and what states are afterwards."""
        for name, variable in self._state.items():
            if name in feeds:
                variable.assign(feeds[name])
        fed = [name for name in feeds if name not in self._state]
        operands = [feeds["input:{}".format(index)] for index in range(len(fed))]
        self._wanted, self._seen = frozenset(fetches), {}
        outputs = self._model(operands[0] if len(operands) == 1 else operands, training=False)
        if isinstance(outputs, dict):
            outputs = list(outputs.values())
        results = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        outputs = dict(self._state, **self._seen)
        outputs.update(("output:{}".format(index), result) for index, result in enumerate(results))
        return [np.asarray(outputs[name]) for name in fetches]


def keras(old):
    """Return the package of Keras: version 2 on its own, or the one that this TensorFlow has."""
    name = "tf_keras" if old else "keras"
    tf = import_module("tensorflow")
    if int(tf.__version__.partition(".")[0]) < 2:
        tf.compat.v1.enable_eager_execution()  # so that a model gives numbers
        return tf.keras
    return tf.keras if find_spec(name) is None else import_module(name)


def keras_model(path):
    """Return the version of Keras that wrote a file, and the configuration in it."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            version = json.loads(archive.read("metadata.json"))["keras_version"]
            config = json.loads(archive.read("config.json"))
    else:
        with import_module("h5py").File(path, "r") as file:
            version, config = file.attrs.get("keras_version", "1"), json.loads(file.attrs["model_config"])
    text = version.decode() if isinstance(version, bytes) else str(version)
    return int(text.partition(".")[0]), config


def checks():
    """Return the module that checks what may run, which lies beside this program."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks.py")
    spec = spec_from_file_location("live_checks", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def open_session(tf, kind, model, allowed, folder):
    """Return what can run the model, with its variables. Graph optimisations are off: the plain kernels."""
    if kind == "keras":
        return Keras(model, allowed)
    v1 = tf.compat.v1
    feeds = {name: tf.as_dtype(dtype).as_datatype_enum for name, dtype in allowed["feeds"].items()}
    graph = read_graph(v1, kind, model)
    part, feed_names = checks().runnable(graph, allowed["wanted"], feeds, frozenset(allowed["operators"]))
    if allowed["inline"]:
        part = inlined(tf, part)
    session = v1.Session(graph=tf.Graph(), config=plain_kernels(v1))
    with session.graph.as_default():
        v1.import_graph_def(part, name="")
    load_variables(tf, session, {node.name for node in part.node}, allowed["variables"], folder)
    return GraphSession(session, feed_names, state_of(tf, session.graph, allowed["state"]), allowed["wanted"])


def inlined(tf, graph):
    """Return the graph with the nodes of functions, named CALL/NODE, in front of an IdentityN in place of their
    call."""
    flat, library = type(graph)(), type(graph)()
    flat.versions.CopyFrom(graph.versions)
    library.versions.CopyFrom(graph.versions)
    library.library.CopyFrom(graph.library)
    flat.library.CopyFrom(graph.library)
    functions = {item.signature.name: item for item in graph.library.function}
    convert = import_module("tensorflow.python.framework.function_def_to_graph").function_def_to_graph_def
    pending = list(graph.node)
    with tf.Graph().as_default():
        tf.compat.v1.import_graph_def(library, name="")
        while pending:
            node = pending.pop()
            name = node.attr["f"].func.name if node.op in CALLS else node.op
            if name in functions:
                function = functions[name]
                body, names = convert(function)
                pending += called_body(node, function, body)
                types = [item.type for item in function.signature.output_arg]
                results = [function.ret[item.name] for item in function.signature.output_arg]
                ends = flat.node.add(name=node.name, op="IdentityN" if types else "NoOp")
                if types:
                    ends.attr["T"].list.type.extend(types)
                arguments = dict(zip((item.name for item in function.signature.input_arg), node.input))
                ends.input.extend(placed(names[text], node.name, arguments) for text in results)
                waits = dict(getattr(function, "control_ret", {}))  # since TensorFlow 1.14
                ends.input.extend("^{}/{}".format(node.name, item) for item in waits.values())
            else:
                flat.node.add().CopyFrom(node)
    return flat


def called_body(node, function, body):
    """Return the nodes of a function, by the names and with the operands that they have in place of its call."""
    arguments = dict(zip((argument.name for argument in function.signature.input_arg), node.input))
    waits = [reference for reference in node.input if reference.startswith("^")]
    nodes = [inner for inner in body.node if inner.name not in arguments]
    for inner in nodes:
        inner.name = node.name + "/" + inner.name
        references = [placed(reference, node.name, arguments) for reference in inner.input]
        inner.input[:] = references + [wait for wait in waits if wait not in references]
    return nodes


def placed(reference, call, arguments):
    """Return a reference inside of a function as it is outside of it."""
    sign = "^" if reference.startswith("^") else ""
    name, _, slot = reference.lstrip("^").partition(":")
    if name in arguments:
        return sign + (arguments[name].partition(":")[0] if sign else arguments[name])
    return sign + call + "/" + name + (":" + slot if slot else "")


def load_variables(tf, session, nodes, names, folder):
    """Set the variables among the nodes to the values in the folder, which are needed once."""
    for index, name in enumerate(names):
        path = os.path.join(folder, "{}.npy".format(index))
        if name in nodes:
            ((feed, setting, _),) = state_of(tf, session.graph, [name]).values()
            value = np.load(path)
            kind = feed.dtype.as_numpy_dtype
            session.run(setting, {feed: value.view(kind) if value.dtype.kind == "V" else value})
        os.remove(path)


def plain_kernels(v1):
    """Return the settings of a session that optimises nothing."""
    config = v1.ConfigProto()
    rewriter_config_pb2 = import_module("tensorflow.core.protobuf.rewriter_config_pb2")
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    if hasattr(config.graph_options.rewrite_options, "disable_meta_optimizer"):  # since TensorFlow 1.12
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    return config


def read_graph(v1, kind, path):
    """Return the GraphDef of a binary or text file. Of a SavedModel, return the graph that is served."""
    if kind == "saved_model":
        message = import_module("tensorflow.core.protobuf.saved_model_pb2").SavedModel()
    else:
        message = v1.MetaGraphDef() if kind == "meta" else v1.GraphDef()
    with open(path, "rb") as file:
        data = file.read()
    try:
        message.ParseFromString(data)
    except import_module("google.protobuf.message").DecodeError:  # no text is a binary message
        message.Clear()
        import_module("google.protobuf.text_format").Parse(data.decode(), message)
    return message if kind == "graph" else (served(message) if kind == "saved_model" else message).graph_def


def served(model):
    """Return the graph of a SavedModel with the tag `serve` alone, else with it, else the first."""
    return sorted(
        model.meta_graphs, key=lambda meta: ("serve" not in meta.meta_info_def.tags, len(meta.meta_info_def.tags))
    )[0]


def answer(out, header, array = None):
    """Write one line of JSON, and an array behind it."""
    line = json.dumps(header).encode() + b"\n"
    if array is None:
        out.write(line)
    else:
        buffer = io.BytesIO()  # numpy asks a file for its position, which a pipe has not
        write_array(buffer, array, allow_pickle=False)
        out.write(line + buffer.getvalue())
    out.flush()


def describe_error(error):
    """Return the text of an error, and whether there was too little memory."""
    too_little = isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError"
    return {"error": "{}: {}".format(type(error).__name__, error), "memory": too_little}


def evaluate(session, folder, out):
    """Answer one request."""
    with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
        request = json.load(file)
    with np.load(os.path.join(folder, "feeds.npz")) as archive:
        feeds = {name: archive["a{}".format(index)] for index, name in enumerate(request["feeds"])}
    fetches = request["fetches"]
    for start in range(0, len(fetches), AT_ONCE):
        wanted = fetches[start : start + AT_ONCE]
        for name, array in zip(wanted, session.run(wanted, feeds)):
            array = np.asarray(array)
            answer(out, {"name": name}, array.astype(np.float32) if array.dtype.kind == "V" else array)


def main():
    """Serve until standard input ends; TensorFlow's own words go to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        tf = import_module("tensorflow")
    except ImportError as error:
        answer(out, {"missing": str(error)})
        return
    folder, kind, model = sys.argv[1:4]
    try:
        with open(os.path.join(folder, "allowed.json"), encoding="utf-8") as file:
            session = open_session(tf, kind, model, json.load(file), folder)
    except Exception as error:  # whatever TensorFlow raises is an answer too
        answer(out, describe_error(error))
        return
    answer(out, {"version": tf.__version__})
    for _ in sys.stdin.buffer:
        try:
            evaluate(session, folder, out)
            answer(out, {})
        except Exception as error:
            answer(out, describe_error(error))


if __name__ == "__main__":
    main()
