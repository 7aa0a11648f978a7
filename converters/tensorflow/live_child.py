"""Run as a program, with live TensorFlow: evaluate a model on stored arrays. Imports nothing of graphir.

    live_child.py FOLDER KIND MODEL

KIND is `graph` (a frozen GraphDef), `saved_model` (a folder), `meta` (a .meta file with its checkpoint),
`signature:NAME` (a folder of TensorFlow 2: feeds and fetches are names of that signature's, not tensors) or `keras` (a
.keras or .h5 file). The program says its version in a line of JSON on standard output. For every line on standard
input it reads feeds.npz and request.json from FOLDER (`feeds`: the tensors that the arrays are for; `fetches`: those
that are wanted) and answers, for each, with a line of JSON and an .npy; then with an empty object, or an error.
"""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

AT_ONCE = 32
write_array: Any = np.lib.format.write_array


class Signature:
    """A signature of a SavedModel, to be run as a session is."""

    def __init__(self, tf: Any, folder: str, name: str) -> None:
        self._tf = tf
        self._model = tf.saved_model.load(folder)
        self._function = self._model.signatures[name]

    def run(self, fetches: list[str], feeds: dict[str, Any]) -> list[Any]:
        """The named results."""
        found = self._function(**{name: self._tf.constant(array) for name, array in feeds.items()})
        return [found[name].numpy() for name in fetches]


class Keras:
    """A Keras model, to be run as a session is: feeds are `input:0` and so on, fetches `output:0`.

    Files of versions 1 and 2 are opened by tf_keras, which is version 2, where it is installed: version 3 refuses some,
    and computes others differently.
    """

    def __init__(self, path: str) -> None:
        old = keras_version(path) < 3 and find_spec("tf_keras") is not None
        self._model = import_module("tf_keras" if old else "keras").models.load_model(path, compile=False)

    def run(self, fetches: list[str], feeds: dict[str, Any]) -> list[Any]:
        """The numbered outputs."""
        operands = [feeds[f"input:{index}"] for index in range(len(feeds))]
        found = self._model(operands[0] if len(operands) == 1 else operands, training=False)
        if isinstance(found, dict):
            found = list(found.values())
        results = found if isinstance(found, (list, tuple)) else [found]
        return [np.asarray(results[int(name.partition(":")[2])]) for name in fetches]


def keras_version(path: str) -> int:
    """The version of Keras that wrote a file."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            text = json.loads(archive.read("metadata.json"))["keras_version"]
    else:
        with import_module("h5py").File(path, "r") as file:
            text = file.attrs.get("keras_version", "1")
    return int((text.decode() if isinstance(text, bytes) else str(text)).partition(".")[0])


def open_session(tf: Any, kind: str, model: str) -> Any:
    """A session that holds the model, with its variables. Graph optimisations are off: the plain kernels."""
    if kind.startswith("signature:"):
        return Signature(tf, model, kind.partition(":")[2])
    if kind == "keras":
        return Keras(model)
    rewriter_config_pb2 = import_module("tensorflow.core.protobuf.rewriter_config_pb2")
    v1 = tf.compat.v1
    config = v1.ConfigProto()
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    graph = tf.Graph()
    session = v1.Session(graph=graph, config=config)
    with graph.as_default():
        if kind == "saved_model":
            tags = tags_of(v1, model)
            v1.saved_model.load(session, tags, model)
        elif kind == "meta":
            v1.train.import_meta_graph(model, clear_devices=True).restore(session, model[: -len(".meta")])
        else:
            v1.import_graph_def(read_graph(v1, model), name="")
    return session


def tags_of(v1: Any, folder: str) -> list[str]:
    """The tags of the graph to load: `serve` alone, else with it, else the first."""
    loader_impl = import_module("tensorflow.python.saved_model.loader_impl")
    found = [list(meta.meta_info_def.tags) for meta in loader_impl.parse_saved_model(folder).meta_graphs]
    return sorted(found, key=lambda tags: ("serve" not in tags, len(tags)))[0]


def read_graph(v1: Any, path: str) -> Any:
    """The GraphDef in a binary or text file."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return v1.GraphDef.FromString(data)
    except import_module("google.protobuf.message").DecodeError:  # no text is a binary GraphDef
        return import_module("google.protobuf.text_format").Parse(data.decode(), v1.GraphDef())


def answer(out: Any, header: dict[str, Any], array: Any = None) -> None:
    """One line of JSON, and an array behind it."""
    line = json.dumps(header).encode() + b"\n"
    if array is None:
        out.write(line)
    else:
        held = io.BytesIO()  # numpy asks a file for its position, which a pipe has not
        write_array(held, array, allow_pickle=False)
        out.write(line + held.getvalue())
    out.flush()


def evaluate(session: Any, folder: str, out: Any) -> None:
    """Answer one request."""
    with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
        request = json.load(file)
    with np.load(os.path.join(folder, "feeds.npz")) as archive:
        feeds = {name: archive[f"a{index}"] for index, name in enumerate(request["feeds"])}
    fetches = request["fetches"]
    for start in range(0, len(fetches), AT_ONCE):
        wanted = fetches[start : start + AT_ONCE]
        for name, array in zip(wanted, session.run(wanted, feeds)):  # noqa: B905  as long as Python 3.9 is asked
            array = np.asarray(array)
            answer(out, {"name": name}, array.astype(np.float32) if array.dtype.kind == "V" else array)


def main() -> None:
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
        session = open_session(tf, kind, model)
    except Exception as error:  # whatever TensorFlow raises is an answer too
        answer(out, {"error": f"{type(error).__name__}: {error}"})
        return
    answer(out, {"version": tf.__version__})
    for _ in sys.stdin.buffer:
        try:
            evaluate(session, folder, out)
            answer(out, {})
        except Exception as error:
            answer(out, {"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
