# mypy: ignore-errors
# ruff: noqa: B905, UP032
# This runs where TensorFlow is, in Python 3.5 too.
"""Run as a program, with live TensorFlow: evaluate a model on stored arrays. Imports nothing of graphir.

    child.py FOLDER KIND MODEL

KIND is `graph` (a frozen GraphDef), `saved_model` (a folder), `meta` (a .meta file with its checkpoint) or `keras` (a
.keras or .h5 file). FOLDER holds allowed.json: `operators`, and for Keras `classes` and `functions`, that may run; the
tensors that may be `wanted`, and the dtypes of those that are fed as `feeds`. Nothing of the model is run, not even
imported, that these do not need or that is not allowed; of what a model says to do when it is loaded only its variables
are loaded. The program says its version in a line of JSON on standard output. For every line on standard input it
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
from inspect import signature

import numpy as np

AT_ONCE = 32
write_array = np.lib.format.write_array


class Session:
    """A graph in a session. `feeds` says where what is fed for a tensor goes."""

    def __init__(self, session, feeds):
        self._session = session
        self._feeds = feeds

    def run(self, fetches, feeds):
        """The tensors."""
        fed = {self._feeds[name]: array for name, array in feeds.items()}
        return list(self._session.run([self._feeds.get(name, name) for name in fetches], fed))


class Keras:
    """A Keras model, to be run as a session is: feeds are `input:0` and so on, fetches `output:0`.

    Files of versions 1 and 2 are opened by tf_keras, which is version 2, where it is installed: version 3 refuses some,
    and computes others differently.
    """

    def __init__(self, path, allowed):
        version, config = keras_model(path)
        checks().check_keras(config, frozenset(allowed["classes"]), frozenset(allowed["functions"]))
        old = version < 3 and find_spec("tf_keras") is not None
        load = keras(old).models.load_model
        safely = {"safe_mode": True} if "safe_mode" in signature(load).parameters else {}
        self._model = load(path, compile=False, **safely)

    def run(self, fetches, feeds):
        """The numbered outputs."""
        operands = [feeds["input:{}".format(index)] for index in range(len(feeds))]
        found = self._model(operands[0] if len(operands) == 1 else operands, training=False)
        if isinstance(found, dict):
            found = list(found.values())
        results = found if isinstance(found, (list, tuple)) else [found]
        return [np.asarray(results[int(name.partition(":")[2])]) for name in fetches]


def keras(old):
    """The package of Keras: version 2 on its own, or the one that this TensorFlow has."""
    name = "tf_keras" if old else "keras"
    tf = import_module("tensorflow")
    if int(tf.__version__.partition(".")[0]) < 2:
        tf.compat.v1.enable_eager_execution()  # so that a model gives numbers
        return tf.keras
    return tf.keras if find_spec(name) is None else import_module(name)


def keras_model(path):
    """The version of Keras that wrote a file, and the configuration in it."""
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
    """The module that checks what may run, which lies beside this program."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checks.py")
    spec = spec_from_file_location("live_checks", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def open_session(tf, kind, model, allowed):
    """What can run the model, with its variables. Graph optimisations are off: the plain kernels."""
    if kind == "keras":
        return Keras(model, allowed)
    v1 = tf.compat.v1
    graph, saver, keys, file = read_model(tf, kind, model)
    feeds = {name: tf.as_dtype(dtype).as_datatype_enum for name, dtype in allowed["feeds"].items()}
    part, places = checks().runnable(graph, allowed["wanted"], feeds, frozenset(allowed["operators"]), saver)
    session = v1.Session(graph=tf.Graph(), config=plain_kernels(v1))
    with session.graph.as_default():
        v1.import_graph_def(part, name="")
    with session.graph.as_default():
        assign(tf, session, [node for node in part.node if node.op == "VarHandleOp"], keys, file)
    if saver is not None:
        session.run(saver.restore_op_name, {saver.filename_tensor_name: file})
    return Session(session, places)


def read_model(tf, kind, model):
    """The GraphDef, and if it has variables: what loads them, the keys of those that saved objects state, and the
    checkpoint."""
    if kind == "graph":
        return read_graph(tf.compat.v1, model), None, {}, ""
    if kind == "saved_model":
        meta, file = served(model), os.path.join(model, "variables", "variables")
    else:
        read = import_module("tensorflow.python.framework.meta_graph").read_meta_graph_file
        meta, file = read(model), model[: -len(".meta")]
    if not os.path.exists(file + ".index"):
        return meta.graph_def, None, {}, file
    saver = meta.saver_def if meta.saver_def.restore_op_name else None
    return meta.graph_def, saver, saved_keys(tf, meta, file), file


def saved_keys(tf, meta, file):
    """The keys in the checkpoint of the variables of saved objects, by name. What loads variables in a graph does not
    always load those that its signatures use."""
    reader = tf.train.load_checkpoint(file)
    if not reader.has_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"):
        return {}
    pb2 = import_module("tensorflow.core.protobuf.trackable_object_graph_pb2")
    tracked = pb2.TrackableObjectGraph.FromString(reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")).nodes
    found = {}
    for saved, entry in zip(meta.object_graph_def.nodes, tracked):
        keys = [held.checkpoint_key for held in entry.attributes if held.name == "VARIABLE_VALUE"]
        if saved.variable.name and keys:
            found[saved.variable.name] = keys[0]
    return found


def assign(tf, session, variables, keys, file):
    """Load the variables whose keys are known."""
    for node in variables:
        key = keys.get(node.attr["shared_name"].s.decode() or node.name)
        if key is not None:
            value = tf.train.load_checkpoint(file).get_tensor(key)
            handle = session.graph.get_tensor_by_name(node.name + ":0")
            given = tf.compat.v1.placeholder(node.attr["dtype"].type)
            session.run(tf.raw_ops.AssignVariableOp(resource=handle, value=given), {given: value})


def plain_kernels(v1):
    """The settings of a session that optimises nothing."""
    config = v1.ConfigProto()
    rewriter_config_pb2 = import_module("tensorflow.core.protobuf.rewriter_config_pb2")
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    if hasattr(config.graph_options.rewrite_options, "disable_meta_optimizer"):  # since TensorFlow 1.12
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    return config


def served(folder):
    """The graph to load: with the tag `serve` alone, else with it, else the first."""
    loader_impl = import_module("tensorflow.python.saved_model.loader_impl")
    parse = getattr(loader_impl, "parse_saved_model", None) or loader_impl._parse_saved_model  # before 1.14
    graphs = parse(folder).meta_graphs
    return sorted(graphs, key=lambda meta: ("serve" not in meta.meta_info_def.tags, len(meta.meta_info_def.tags)))[0]


def read_graph(v1, path):
    """The GraphDef in a binary or text file."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return v1.GraphDef.FromString(data)
    except import_module("google.protobuf.message").DecodeError:  # no text is a binary GraphDef
        return import_module("google.protobuf.text_format").Parse(data.decode(), v1.GraphDef())


def answer(out, header, array = None):
    """One line of JSON, and an array behind it."""
    line = json.dumps(header).encode() + b"\n"
    if array is None:
        out.write(line)
    else:
        held = io.BytesIO()  # numpy asks a file for its position, which a pipe has not
        write_array(held, array, allow_pickle=False)
        out.write(line + held.getvalue())
    out.flush()


def told(error):
    """What is said of an error, and whether there was too little memory."""
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
            session = open_session(tf, kind, model, json.load(file))
    except Exception as error:  # whatever TensorFlow raises is an answer too
        answer(out, told(error))
        return
    answer(out, {"version": tf.__version__})
    for _ in sys.stdin.buffer:
        try:
            evaluate(session, folder, out)
            answer(out, {})
        except Exception as error:
            answer(out, told(error))


if __name__ == "__main__":
    main()
