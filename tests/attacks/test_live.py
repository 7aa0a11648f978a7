"""Models that do more than compute are held against live frameworks without running what they do besides."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import graphir
from graphir.converters.kernel import child_limits
from graphir.converters.kernel.child_process import ChildProcess
from graphir.converters.kernel.live import DEFAULTS, MEMORY, SECONDS, ChildLimits
from graphir.converters.mxnet.references import refuse_effects
from graphir.converters.mxnet.source import open_source
from graphir.converters.tensorflow.importing.state_writes import WRITES
from graphir.converters.tensorflow.live import allowed
from graphir.converters.tensorflow.live import checks as live_checks
from graphir.converters.tensorflow.live import child as live_child
from graphir.converters.tensorflow.live.process import TensorFlowRefuses
from graphir.converters.tensorflow.schema.operators import operator_schema
from graphir.errors import VerificationError
from tests.tensorflow.written import write_models

WRITER = Path(__file__).with_name("live_models.py")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models, written by live TensorFlow and run as a child runs them. What they write lies there too, if anything
    does."""
    folder = tmp_path_factory.mktemp("models")
    held: dict[str, Any] = {"operators": allowed.operators(), "classes": allowed.keras_classes(), "inline": True}
    held["functions"] = allowed.keras_functions()
    (folder / "allowed.json").write_text(json.dumps(held))
    (folder / "program").write_text(live_child.__file__)
    return write_models(WRITER, folder)


def outcome(models: Path, name: str) -> Any:
    """What came of running a model: its output, or an error; or what TensorFlow says of operators."""
    return json.loads((models / "outcomes.json").read_text())[name]


@pytest.mark.live
@pytest.mark.parametrize("name, refused", [
    ("control.pb", r"WriteFile \(WriteFile\)"), ("function.pb", "WriteFile"), ("shadow.pb", "WriteFile"),
    ("python.pb", "PyFunc"), ("reading.pb", "ReadFile"),
])  # fmt: skip
def test_what_has_effects_is_refused(models: Path, name: str, refused: str) -> None:
    assert re.search(f"^RefusedModel: .*{refused}", outcome(models, name))
    assert not list(models.glob("*.written"))


READERS = (
    "RestoreV2", "Restore", "RestoreSlice", "ReadFile", "MatchingFiles", "ImmutableConst", "LoadAndRemapMatrix",
    "GenerateVocabRemapping", "InitializeTableFromTextFileV2", "WholeFileReaderV2", "TextLineDataset",
    "TFRecordDataset", "FixedLengthRecordDataset",
)  # fmt: skip


@pytest.mark.live
@pytest.mark.parametrize("place", ["graph", "function", "loop"])
@pytest.mark.parametrize("name", READERS)
def test_no_operator_that_reads_files_is_handed_on(models: Path, name: str, place: str) -> None:
    assert re.search(rf"^RefusedModel: .*\b{name} \(", outcome(models, f"{name} in a {place}.pb"))


@pytest.mark.live
@pytest.mark.parametrize(
    "name", ["unused.pb", "print.pb", "main_op", "legacy_init_op", "initialised", "restoring", "elsewhere"]
)
def test_what_the_outputs_do_not_need_does_not_run(models: Path, name: str) -> None:
    assert outcome(models, name) == "[[2.0, 2.0, 2.0, 2.0]]"
    assert not list(models.glob("*.written"))


@pytest.mark.live
def test_the_command_refuses_too(models: Path, tmp_path: Path) -> None:
    with pytest.raises(TensorFlowRefuses, match="WriteFile") as caught:
        graphir.convert(models / "control.pb", tmp_path / "m.onnx", verify=True)
    assert "--against reference" in caught.value.__notes__[0]
    assert not list(models.glob("*.written"))


@pytest.mark.live
def test_only_the_file_that_was_checked_is_read(models: Path, tmp_path: Path) -> None:
    """A SavedModel of another name, beside one of the usual name that is no model."""
    shutil.copytree(models / "elsewhere", tmp_path / "m")
    os.rename(tmp_path / "m" / "saved_model.pb", tmp_path / "m" / "other.pb")
    for name in ("saved_model.pb", "saved_model.cpb", "saved_model.pbtxt", "checkpoint"):
        (tmp_path / "m" / name).write_text("no model")
    report = graphir.convert(tmp_path / "m" / "other.pb", tmp_path / "m.onnx", verify=True, against="live")
    assert report.verification is not None
    assert report.verification.ok


@pytest.mark.live
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name, refused", [
    ("lambda", "Lambda"), ("module", "the module 'os'"), ("custom", "Custom>Dense"),
    ("unsafe", "enable_unsafe_deserialization|the module 'keras.config'"),
])  # fmt: skip
def test_keras_models_with_code(models: Path, name: str, refused: str, suffix: str) -> None:
    assert re.search(f"^RefusedModel: .*({refused})", outcome(models, f"{name}{suffix}"))


@pytest.mark.live
@pytest.mark.parametrize("name", ["honest.keras", "honest.h5"])
def test_keras_models_without_code(models: Path, name: str) -> None:
    assert outcome(models, name).startswith("[[")


@pytest.mark.live
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", ["compiled", "built"])
def test_how_parts_are_compiled_and_built_is_not_read(models: Path, name: str, suffix: str) -> None:
    assert outcome(models, f"{name}{suffix}") == outcome(models, f"honest{suffix}")
    assert not list(models.glob("*.written"))


OBJECTS: list[Any] = [
    {"class_name": "Dense", "module": "keras.layers"},
    {"class_name": "Dense", "module": "keras.src.layers.core.dense", "registered_name": "Dense", "config": {}},
    {"class_name": "Dense", "config": {"activation": {"class_name": "function", "config": "relu"}}},
    {"class_name": "function", "config": "relu", "module": "builtins", "registered_name": "function"},
    {"class_name": "TFOpLambda", "config": {"function": "math.add"}},
    {"class_name": "Dense", "compile_config": {"optimizer": {"class_name": "Mine"}}},
    {"class_name": "Dense", "config": {"layers": [{"class_name": "Dense", "build_config": {"class_name": "Mine"}}]}},
    [{"class_name": "InputLayer"}, 3, None, "Lambda"],
]
FOREIGN: list[Any] = [
    {"class_name": "Lambda"}, {"class_name": "Dense", "module": "kerasx"}, {"class_name": "Dense", "module": "os"},
    {"class_name": "Dense", "module": "keras;os"}, {"class_name": "Dense", "registered_name": "Mine>Dense"},
    {"class_name": "__lambda__", "config": {"value": "..."}}, {"class_name": "function", "config": "system"},
    {"class_name": ["Dense"]}, {"class_name": None}, {"class_name": "function", "config": {"value": "relu"}},
    {"class_name": "TFOpLambda", "config": {"function": "io.write_file"}}, {"class_name": "TFOpLambda"},
    {"class_name": "Dense", "config": {"kernel_initializer": {"class_name": "Mine"}}},
    {"layers": [{"config": {"layers": [{"class_name": "TFSMLayer", "config": {}}]}}]},
    {"class_name": "Dense", "config": {"function": "system"}},
    {"class_name": "Dense", "config": {"config": {"compile": [{"inner": {"class_name": "Mine"}}]}}},
]  # fmt: skip


def check_keras(entry: Any) -> Any:
    program: Any = live_checks  # plain Python, without types
    return program.check_keras(entry, frozenset(allowed.keras_classes()), frozenset(allowed.keras_functions()))


@pytest.mark.parametrize("entry", OBJECTS, ids=json.dumps)
def test_keras_configurations_that_pass(entry: Any) -> None:
    assert not re.search("(compile|build)_config", json.dumps(check_keras(entry)))


@pytest.mark.parametrize("entry", FOREIGN, ids=json.dumps)
def test_keras_configurations_that_do_not(entry: Any) -> None:
    with pytest.raises(live_checks.RefusedModel):
        check_keras(entry)


EFFECTS = (
    "WriteFile", "ReadFile", "PyFunc", "EagerPyFunc", "PyFuncStateless", "SaveV2", "RestoreV2", "MergeV2Checkpoints",
    "MatchingFiles", "Save", "Restore", "WriteSummary", "CreateSummaryFileWriter", "TextLineDataset", "TFRecordDataset",
    "InitializeTableFromTextFileV2", "DebugIdentityV2", "RemoteCall", "XlaHostCompute", "SymbolicGradient", "Abort",
    "WholeFileReaderV2", "TextLineReaderV2", "FixedLengthRecordReaderV2", "ReaderReadV2",
)  # fmt: skip


@pytest.mark.parametrize("name", EFFECTS)
def test_operators_with_effects_are_not_on_the_list(name: str) -> None:
    assert name not in allowed.operators()


@pytest.mark.parametrize("name", allowed.operators())
def test_operators_on_the_list_are_tensorflows(name: str) -> None:
    assert operator_schema(name) is not None


# Operators that TensorFlow calls stateful, each with the reason why it has no effect outside of the child process.
STATE = {
    "Assert", "IsVariableInitialized", "ReadVariableOp", "VarHandleOp", "VarIsInitializedOp",
    "Variable", "VariableShape", "VariableV2", "ResourceGather", "ResourceGatherNd", "DisableCopyOnRead",
    *WRITES,  # variables of the process
    "TensorArrayConcatV2", "TensorArrayGatherV2", "TensorArrayV2", "TensorArrayV3", "TensorArrayConcatV3",
    "TensorArrayGatherV3", "TensorArrayReadV3", "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArrayWriteV3",
    "Case", "If", "StatefulPartitionedCall", "While",  # what they call is checked too
    "CheckNumerics", "CheckNumericsV2", "Print", "PrintV2",  # standard error; PrintV2 is silenced
    "CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "DeepCopy", "Empty", "GuaranteeConst", "StatelessRandomGetAlg",
    "Multinomial", "RandomShuffle", "RandomStandardNormal", "RandomUniform", "RandomUniformInt",  # random numbers
}  # fmt: skip


@pytest.mark.live
def test_state_on_the_list_is_known(models: Path) -> None:
    assert set(outcome(models, "stateful operators")) & set(allowed.operators()) <= STATE


# The texts that operators on the list take, with what they are: no path is among them.
TEXTS = {
    "padding", "data_format", "bad_indices_policy", "align", "mode", "round_mode", "method", "equation", "rnn_mode",
    "input_mode", "direction",  # choices
    "container", "shared_name", "debug_name", "allowed_devices", "tensor_array_name", "frame_name", "handle",  # names
    "message", "fill", "template", "placeholder",  # parts of other texts
    "input", "output_stream", "end",  # of PrintV2, which is silenced
    "config", "config_proto", "executor_type",  # settings, which are removed
}  # fmt: skip


@pytest.mark.live
def test_texts_on_the_list_are_no_paths(models: Path) -> None:
    texts = outcome(models, "texts")
    assert {text for name in allowed.operators() if name in texts for text in texts[name]} == TEXTS


def mxnet_symbol(op: str, **attrs: str) -> str:
    nodes = [
        {"op": "null", "name": "data", "inputs": []},
        {"op": op, "name": "odd", "attrs": attrs, "inputs": [[0, 0, 0]]},
    ]
    graph = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}
    return json.dumps(graph)


@pytest.mark.parametrize("op", ["Custom", "_CustomFunction", "_NDArray", "_Native", "_cvimread", "_FusedOp", "mine"])
def test_operators_of_mxnet_that_call_others(op: str) -> None:
    with pytest.raises(VerificationError, match=rf"not {op} \(odd\)"):
        refuse_effects(open_source(mxnet_symbol(op, op_type="x"), {}).symbol)


def test_operators_of_mxnet_that_compute() -> None:
    refuse_effects(open_source(mxnet_symbol("relu"), {}).symbol)


CHILD = """
import json, os, socket, subprocess, sys

def attempt(what):
    try:
        what()
    except BaseException as error:
        return type(error).__name__
    return "done"

def write(path):
    with open(path, "w") as file:
        file.write("x")

outside, folder = sys.argv[2], sys.argv[1]
print(json.dumps({
    "write": attempt(lambda: write(os.path.join(outside, "new"))),
    "overwrite": attempt(lambda: write(os.path.join(outside, "old"))),
    "remove": attempt(lambda: os.remove(os.path.join(outside, "old"))),
    "link": attempt(lambda: os.symlink("x", os.path.join(outside, "link"))),
    "start": attempt(lambda: subprocess.run(["/bin/true"], check=True)),
    "connect": attempt(lambda: socket.create_connection(("127.0.0.1", 9))),
    "allocate": attempt(lambda: bytearray(1 << 30)),
    "own": attempt(lambda: write(os.path.join(folder, "own"))),
    "large": attempt(lambda: os.truncate(os.path.join(folder, "own"), 1 << 40)),
    "path": [path for path in sys.path if path.endswith("converters")],
}))
sys.stdin.readline()
"""


# Whether Landlock is there, asked in a process of its own, for which it is then in force.
ASK = "import runpy, sys; print(runpy.run_path(sys.argv[1])['lock_in']('/'))"
# As on a system without Landlock.
UNLOCKED = """
import runpy, sys
held = runpy.run_path(sys.argv[1])
held["main"].__globals__["lock_in"] = lambda folder: False
del sys.argv[0]
held["main"]()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Landlock is Linux's")
def test_what_a_child_cannot_do(tmp_path: Path) -> None:
    question = [sys.executable, "-c", ASK, child_limits.__file__]
    asked = subprocess.run(question, capture_output=True, text=True, check=True)
    lock_in_is_there = asked.stdout == "True\n"
    (tmp_path / "old").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "child.py").write_text(CHILD)
    limits = json.dumps({"memory": 1 << 29, "seconds": 10})
    paths = [tmp_path / "child.py", tmp_path / "folder", tmp_path]
    program = [sys.executable, child_limits.__file__, limits, *map(str, paths)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, input="")
    found = json.loads(done.stdout)
    assert (found.pop("large"), found.pop("allocate"), found.pop("path")) == ("OSError", "MemoryError", [])
    if not lock_in_is_there:
        pytest.skip("the kernel has no Landlock")
    assert found == {
        "write": "PermissionError", "overwrite": "PermissionError", "remove": "PermissionError",
        "link": "PermissionError", "start": "PermissionError", "connect": "PermissionError", "own": "done",
    }  # fmt: skip
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.skipif(sys.platform == "win32", reason="limits are POSIX")
def test_what_a_child_cannot_write_without_landlock(tmp_path: Path) -> None:
    script = "from pathlib import Path; [Path(name).write_bytes(bytes(4096 + more)) for more, name in enumerate('ab')]"
    (tmp_path / "child.py").write_text(script)
    limits = json.dumps({"memory": 1 << 30, "seconds": 10})
    paths = [tmp_path / "child.py", tmp_path]
    program = [sys.executable, "-c", UNLOCKED, child_limits.__file__, limits, *map(str, paths)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "File too large" in done.stderr
    assert [(tmp_path / name).stat().st_size for name in "ab"] == [4096, 4096]


class Sleeper(ChildProcess):
    """A program that answers what its script says."""

    framework, missing = "Sleep", VerificationError


@pytest.mark.parametrize("script, said", [
    ("import time; time.sleep(60)", f"took more than 1 seconds and was ended; --live-seconds or {SECONDS} raises"),
    ("import time; print('{}')\nwhile True: print('{\"name\"', end='', flush=True); time.sleep(.1)",
     "took more than 1 seconds"),
    ("import os; os.write(2, b'oh dear'); os.abort()", "was ended by SIGABRT: oh dear"),
    ("import sys; sys.stderr.write('x' * 1000000 + '\\nlast'); sys.exit(3)", "ended with status 3: last"),
    ("print('nonsense')", "ended with status 0"),
])  # fmt: skip
def test_a_child_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str) -> None:
    monkeypatch.setenv(SECONDS, "1")
    (tmp_path / "child.py").write_text(script)
    child = Sleeper(sys.executable)
    with pytest.raises(VerificationError, match=said):
        list(child.start(tmp_path / "child.py", [], {}) or child.ask())


@pytest.mark.parametrize("name, text", [(SECONDS, "0"), (SECONDS, "long"), (MEMORY, "-1"), (MEMORY, "nan")])
def test_limits_that_are_none(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(VerificationError, match=f"{name} is '{text}', expected a number"):
        ChildLimits.of_environment()


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ChildLimits.of_environment() == ChildLimits(DEFAULTS[SECONDS], DEFAULTS[MEMORY] << 30)
    monkeypatch.setenv(MEMORY, "0.5")
    assert ChildLimits.of_environment().memory == 1 << 29


def test_no_model_has_a_library_of_its_own() -> None:
    """onnxruntime loads libraries of operators where it is told to; nothing here tells it."""
    folder = Path(graphir.__file__).parent
    texts = [path.read_text() for part in (folder, folder / "converters") for path in part.rglob("*.py")]
    assert len(texts) > 300
    loading = ("register_custom_ops", "mx.library", "load_op_library")
    assert not [text for text in texts if any(call in text for call in loading)]
    assert not os.environ.get("MXNET_LIBRARY_PATH")
