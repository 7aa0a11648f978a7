"""In a folder of files that are called like modules, programs and libraries none of them is taken, whatever is run."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from graphir.cli import COMMANDS, command_parser, main
from graphir.safety import children
from tests.requirements import missing
from tests.tensorflow.written import write_models

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "models/digits"
# Modules that graphir, its children, and what they import may ask for.
LIBRARIES = (
    "numpy", "ml_dtypes", "safetensors", "onnx", "onnxruntime", "google", "h5py", "mxnet", "tensorflow", "keras",
    "tf_keras", "distributed", "dask", "fsspec", "tests", "plotly", "matplotlib", "PIL", "psutil", "cloudpickle",
    "sitecustomize", "usercustomize", "child", "checks", "converters",
)  # fmt: skip
OF_PYTHON = sorted(sys.stdlib_module_names - set(sys.builtin_module_names))
PROGRAMS = ("dot", "nvidia-smi", "sysctl", "python", "python3")
TRAP = 'open({path!r}, "w").close()\nraise SystemExit("a trap ran: {path}")\n'
S = "digits-symbol.json"
PACKAGES = ("mxnet", "tensorflow", "google")


def lay_traps(folder: Path, without: Collection[str] = ()) -> None:
    """Fill a folder with modules, but for some, and programs that leave a file behind where they run, and end what ran
    them."""
    for name in {*LIBRARIES, *OF_PYTHON, "graphir"} - {*without}:
        path = folder / name / "__init__.py" if name in PACKAGES else folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(TRAP.format(path=f"{folder}/{name}.ran"))
    for name in PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\ntouch '{folder}/{name}.ran'\nexit 3\n")
        (folder / name).chmod(0o755)
    (folder / "libmxnet.so").write_bytes(b"no library")


def sprung(folder: Path) -> list[str]:
    """Return the names of the traps that ran."""
    return sorted(path.name for path in folder.glob("*.ran"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of TensorFlow and Keras."""
    return write_models(Path(__file__).with_name("trap_models.py"), tmp_path_factory.mktemp("written"))


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report that says something of layers, and beside it weights that have keys."""
    folder = tmp_path_factory.mktemp("proof")
    words = ["convert", str(DIGITS / S), str(folder / "m.onnx"), "--verify", "--against", "reference"]
    assert main([*words, "--report", str(folder / "proof.json"), "-q"]) == 0
    weights = ["params", str(DIGITS / "digits-0020.params"), "--to", str(folder / "like.safetensors")]
    assert main([*weights, "--strip-prefix", "-q"]) == 0
    return folder / "proof.json"


@pytest.fixture
def traps(tmp_path: Path, proof: Path) -> Iterator[Path]:
    """A folder of traps with a model, in which commands are run."""
    folder = tmp_path / "traps"
    folder.mkdir()
    for path in DIGITS.glob("digits-*"):
        shutil.copy(path, folder)
    shutil.copy(DIGITS / "digits-test.npz", folder / "labelled.npz")
    with np.load(DIGITS / "digits-test.npz") as arrays:
        np.savez(folder / "feeds.npz", data=arrays["data"][:2])
    shutil.copy(proof, folder)
    shutil.copy(proof.with_name("like.safetensors"), folder)
    (folder / "models.txt").write_text("digits-symbol.json\n")
    (folder / "plugin.py").write_text("def register(registry):\n    pass\n")
    lay_traps(folder)
    yield folder
    assert sprung(folder) == []


def run(folder: Path, *words: str, command: tuple[str, ...] = ("-P", "-m", "graphir")) -> str:
    """Run a command of graphir among the traps; what it prints.

    The search lists have an empty entry, as those have that begin with an unset variable: `LD_LIBRARY_PATH=$OLD:/opt`.
    """
    settings = {**os.environ, "PATH": f":{os.environ['PATH']}", "LD_LIBRARY_PATH": ":/usr/lib"}
    done = subprocess.run(
        [sys.executable, *command, *words], cwd=folder, env=settings, capture_output=True, text=True, check=False,
        timeout=600,
    )  # fmt: skip
    assert done.returncode in (0, 4, 5), done.stdout + done.stderr
    assert "a trap ran" not in done.stdout + done.stderr
    return done.stdout + done.stderr


CUT = "--inputs data --outputs fc1"
BIAS = "--inputs fc2_bias --outputs softmax --constant fc2_bias=[1,2,3,4,5,6,7,8,9,10]"
OTHER = "--other-format mxnet --other-params digits-0020.params --other-input data:1,1,8,8"
OTHER_CUT = f"{OTHER} --other-outputs fc1 --other-inputs data"
COMPARED = (
    "--against reference --seed 1 --rtol 1e-3 --atol 1e-3 --per-layer --memory-budget 1GB --provider cpu "
    "--live-seconds 60 --live-memory 8 --output-format text -v"
)
MODEL = (
    "--format mxnet -p digits-0020.params -i data:1,1,8,8 --limits elements=1000000000 --plugin plugin.py --state keep"
)
# Command lines that together have every option of every command, but those below.
LINES = (
    f"convert {S} m.onnx {MODEL} {CUT} --opset 17 --weights inline --report r.html --verify {COMPARED} --keep-loss",
    f"convert {S} h.onnx --dtype float16 --io-dtype float32 --keep-float32 fc* --accuracy labelled.npz --verify -q",
    f"convert {S} old-symbol.json --feeds feeds.npz --verify --json",
    f"convert {S} net.py --names names.json --training --strict --layout NCHW",
    f"convert {S} weights.safetensors --like like.safetensors --like-graph {S}",
    f"convert {S} c.onnx {BIAS}", f"convert {S} smallest.onnx --simplify -q",
    f"simplify {S} s.onnx {MODEL} {CUT} --opset 17 --fuse --seconds 0.1 {COMPARED}",
    f"simplify {S} t.onnx --feeds feeds.npz --json -q", f"simplify {S} u.onnx --no-verify --max-growth 1MB -q",
    f"quantize {S} q.onnx {MODEL} {CUT} --opset 17 --kind static --activations uint8 --per-tensor --reduce-range "
    "--exclude fc1 --feeds labelled.npz --method minmax --samples 8 --seed 1 --seconds 0.1 --threads 1 --report q.html "
    "-v",
    f"quantize {S} r.onnx --feeds labelled.npz --accuracy labelled.npz --max-drop 5% --keep-best --json -q",
    f"quantize {S} i.onnx --kind int4 --block-size 32 --max-error 0.9 --feeds labelled.npz -q",
    "providers -v", "providers --json -q",
    "convert-all . --out out --to onnx --jobs 2 --timeout 100 --memory 2 --retry failed --opset 17 "
    f"--verify {COMPARED} -i data:1,1,8,8 --limits elements=1000000000 --plugin plugin.py {CUT} --state keep",
    "convert-all --list models.txt --list-root . --out again --to mxnet --format mxnet -p digits-0020.params "
    "--feeds feeds.npz --verify --json -q",
    f"convert-all {S} --out third {BIAS}",
    f"check {S} {MODEL} {CUT} --target onnx --opset 17 --provider cpu --output-format github -v",
    f"check {S} --target mxnet --json -q", "check --list models.txt --list-root . -q",
    f"verify {S} {S} {MODEL} {CUT} {OTHER_CUT} {COMPARED} --report r.json --match data=data --reproduce parts",
    f"verify {S} {S} --feeds feeds.npz --json -q",
    "verify --capture-script",
    f"shapes {S} {S} {MODEL} {CUT} {OTHER_CUT} --full --json -v",
    f"shapes {S} --explain fc1 --partial -q",
    f"padding {S} {S} {MODEL} {CUT} {OTHER_CUT} --report p.html --output-format text -v",
    f"padding {S} --json -q",
    f"diff {S} {S} {MODEL} {CUT} {OTHER_CUT} --report d.json --output-format text -v",
    f"diff {S} {S} --json -q",
    f"plot {S} p.html {MODEL} {CUT} --most 5 --simplified -v",
    f"plot {S} r.html --report proof.json",
    f"plot {S} {S} q.svg {OTHER_CUT} {CUT} --json -q",
    f"summary {S} {MODEL} {CUT} --json -q", f"summary {S} -v",
    f"cost {S} {MODEL} {CUT} --csv -v", f"cost {S} --shapes data:1,1,8,8 --report c.html --json -q",
    f"layers {S} {MODEL} {CUT} --match * -v", f"layers {S} --json -q",
    f"memory {S} {MODEL} {CUT} --timeline t.html --json -v",
    f"memory {S} -i data:1,1,8,8 --training --budget 1GB --symbol planned.json --seconds 5 --mxnet --do-mirror "
    "--gradient-sum-cap 8 --match-range 16 --search-match-range --num-temp 1 -q",
    f"memory {S} -i data:1,1,8,8 --training --least",
    f"bench {S} {S} {MODEL} {OTHER} --provider cpu --batch 1 --seconds 0.2 --warm-up 1 --threads 1 --seed 1 "
    "--io-binding off --json -v",
    f"bench {S} --feeds feeds.npz --seconds 0.2 {CUT} --other-inputs data --other-outputs fc1 -q --tf32",
    f"params {S} --format mxnet --plugin plugin.py --json -v",
    "params digits-0020.params --to w.npz --strip-prefix -q",
)  # fmt: skip
# What starts the same children as the options above with other words, or needs what no test has.
ELSEWHERE = {
    "--signature", "--other-signature",  # of SavedModels; read as the options above are
    "--python", "--dask",  # tests of their own, below
    "--help",
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_no_command_takes_a_trap(traps: Path, line: str) -> None:
    run(traps, *shlex.split(line))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_tried(command: str) -> None:
    words = {word for line in LINES if line.split()[0] == command for word in line.split()}
    for action in command_parser(command)._actions:
        names = {name for name in action.option_strings if name not in ELSEWHERE}
        assert not action.option_strings or not names or names & words or action.dest in ("help",), action


AS_MODULE = f"convert {S} m.onnx --verify --against reference", "convert-all . --out out", "--help"


@pytest.mark.parametrize("line", AS_MODULE)
def test_python_m_graphir_takes_no_trap(tmp_path: Path, line: str) -> None:
    """The interpreter looks for the module to run, and for what it needs for that, in the current folder first;
    everything else is found elsewhere."""
    asking = [sys.executable, "-P", "-c", "import runpy, sys; print(*sys.modules)"]
    needs = subprocess.run(asking, capture_output=True, text=True, check=True).stdout.split()
    for path in DIGITS.glob("digits-*"):
        shutil.copy(path, tmp_path)
    lay_traps(tmp_path, without={"graphir", *(name.partition(".")[0] for name in needs)})
    run(tmp_path, *line.split(), command=("-m", "graphir"))
    assert sprung(tmp_path) == []


def other_python(folder: Path) -> str:
    """Return a program that starts this interpreter, as one that is named by the user; it is not this process's own."""
    path = folder / "other-python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    return str(path)


LIVE = (
    ("MXNet", f"convert {S} m.onnx --verify --against live"),
    ("MXNet", f"convert-all {S} --out out --verify --against live --jobs 1"),
    ("PyTorch", f"convert {S} net.py --verify"),
    ("TensorFlow", "convert frozen.pb m.onnx --verify --against live"),
    ("TensorFlow", "convert dense.keras m.onnx --verify --against live"),
    ("TensorFlow", "convert dense.h5 m.onnx --verify --against live"),
    ("TensorFlow", "convert-all . --out out --verify --jobs 2"),
)


@pytest.mark.live
@pytest.mark.parametrize("own", [True, False], ids=["own", "other"])
@pytest.mark.parametrize(("framework", "line"), LIVE, ids=[line for _, line in LIVE])
def test_live_frameworks_take_no_trap(
    traps: Path, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, framework: str, line: str, own: bool
) -> None:
    module = {"PyTorch": "torch"}.get(framework, framework.lower())
    if find_spec(module) is None:
        missing(framework, f"{framework} is not installed in this interpreter")
    for path in written.iterdir():
        shutil.copy(path, traps)
    monkeypatch.setenv(f"GRAPHIR_{module.upper()}_PYTHON", sys.executable if own else other_python(tmp_path))
    run(traps, *line.split())


def test_hdf5_takes_no_trap(traps: Path, tmp_path: Path) -> None:
    import h5py

    config = {"class_name": "Dense", "config": {"name": "fc", "units": 3, "batch_input_shape": [None, 4]}}
    with h5py.File(traps / "dense.h5", "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = "2.4.0", "tensorflow"
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"layers": [config]}})
        group = file.create_group("model_weights/fc")
        file["model_weights"].attrs["layer_names"] = [b"fc"]
        group.attrs["weight_names"] = [b"fc/kernel:0", b"fc/bias:0"]
        group["fc/kernel:0"], group["fc/bias:0"] = np.ones((4, 3), "float32"), np.ones(3, "float32")
    assert "Keras 2 model" in run(traps, "summary", "dense.h5")


PROGRAM = """
import os, sys
{imports}
if __name__ == "__main__":
    {body}
"""
PARTS = {
    "dask": (
        "import distributed",
        "with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:\n"
        "        from graphir.cli import main\n"
        "        assert main(['convert-all', '.', '--out', 'out', '--dask', cluster.scheduler_address]) == 0",
    ),
    "programs": (
        "from graphir.runtime.machine import machine_facts\nfrom graphir.converters.mxnet import mx",
        "machine_facts(gpu=True)\n"
        "    symbol = mx.sym.load('digits-symbol.json')\n"
        "    try: mx.viz.plot_network(symbol, shape={'data': (1, 1, 8, 8)}).pipe('svg')\n"
        "    except Exception as error: assert 'Graphviz is not installed' in str(error), error",
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_the_library_takes_no_trap(traps: Path, tmp_path: Path, part: str) -> None:
    imports, body = PARTS[part]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(imports=imports, body=body))
    run(traps, command=("-P", str(program)))


def test_what_a_child_inherits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {
        "PYTHONPATH": ".", "PYTHONHOME": "/x", "PYTHONSTARTUP": "a.py", "PYTHONWARNINGS": "error::numpy.A",
        "LD_PRELOAD": "libjemalloc.so ./own.so:/lib/a.so", "LD_AUDIT": "own/audit.so", "LD_LIBRARY_PATH": ":/lib:x",
        "PATH": f"{os.environ['PATH']}::.:bin", "GRAPHIR_LIVE_SECONDS": "7",
    }  # fmt: skip
    for name, text in given.items():
        monkeypatch.setenv(name, text)
    found = children.child_environment({"MINE": "1", "GRAPHIR_LIVE_SECONDS": None})
    assert {name: found.get(name) for name in (*given, "MINE")} == dict.fromkeys(given) | {
        "LD_PRELOAD": "libjemalloc.so:/lib/a.so", "LD_LIBRARY_PATH": "/lib", "MINE": "1",
        "PATH": given["PATH"].removesuffix("::.:bin"),
    }  # fmt: skip


STARTS = {"subprocess", "multiprocessing", "concurrent", "pty", "asyncio", "posix", "_posixsubprocess"}
CALLS = {"fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp", "startfile"}
# What stands in every such module; only those are parsed, which takes long.
WORDS = re.compile(rf"\b({'|'.join((*STARTS, *CALLS, 'exec[a-z]+', 'spawn[a-z]+'))})\b")
# Modules that start processes, or take them for something else than starting.
MAY_START = {
    "graphir/safety/children.py": {"subprocess"},
    "graphir/registry/pool.py": {"multiprocessing"},  # pipes
    "graphir/registry/fork_workers.py": {"multiprocessing", "fork"},  # pipes, workers
    "converters/tensorflow/keras/hdf5_child.py": {"fork"},  # a process for each file
    "converters/tensorflow/keras/hdf5.py": {"subprocess"},  # constants
    "converters/kernel/child_process.py": {"subprocess"},  # constants, types and errors
    "graphir/runtime/machine.py": {"subprocess"},  # an error
    "graphir/safety/isolation.py": {"multiprocessing", "fork"},  # pipes, comparisons
}


def test_one_module_starts_all_processes() -> None:
    found: dict[str, set[str]] = {}
    for folder in ("graphir", "converters"):
        for path in (ROOT / folder).rglob("*.py"):
            if (ROOT / "graphir/converters") in path.parents:
                continue
            text = path.read_text(encoding="utf-8")
            if not WORDS.search(text):
                continue
            nodes = list(ast.walk(ast.parse(text)))
            imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
            imported += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
            names = {name.partition(".")[0] for name in imported}
            called = {
                node.attr for node in nodes
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
                and (node.attr in CALLS or node.attr.startswith(("exec", "spawn")))
            }  # fmt: skip
            if names & STARTS | called:
                found[path.relative_to(ROOT).as_posix()] = names & STARTS | called
    assert found == MAY_START


@pytest.mark.parametrize("path", [path for path in MAY_START if path != "graphir/safety/children.py"])
def test_no_other_module_calls_what_starts(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert not [call for call in ("Popen(", "subprocess.run(", ".Process(", "check_output(", "Pool(") if call in text]
