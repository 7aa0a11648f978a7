"""Plugins: the examples of docs/plugins.md through every command; what goes wrong in one is told with its line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import graphir as library
from graphir import plugins
from graphir.plugins import PluginError, Registry
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "plugins.md"
EXAMPLES = dict(re.findall(r"<!-- (\w+\.py) -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL))


def node(op: str, name: str, inputs: list[int], **attrs: str) -> dict[str, Any]:
    """A node of a symbol."""
    found: dict[str, Any] = {"op": op, "name": name, "inputs": [[index, 0, 0] for index in inputs]}
    return found | ({"attrs": attrs} if attrs else {})


def symbol(folder: Path, name: str, nodes: list[dict[str, Any]]) -> Path:
    """A symbol with one head, its last node, and parameters for a dense layer."""
    variables = [place for place, one in enumerate(nodes) if one["op"] == "null"]
    document = {
        "nodes": nodes, "arg_nodes": variables, "heads": [[len(nodes) - 1, 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]},
    }  # fmt: skip
    path = folder / f"{name}-symbol.json"
    path.write_text(json.dumps(document))
    from graphir.converters.mxnet import write_params

    generator = np.random.default_rng(3)
    shapes = {"w": (4, 3), "b": (4,)}
    write_params(
        folder / f"{name}-0000.params",
        {f"arg:{key}": generator.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()},
    )
    return path


DENSE = [
    node("null", "data", []), node("null", "w", []), node("null", "b", []),
    node("FullyConnected", "fc", [0, 1, 2], num_hidden="4"),
]  # fmt: skip
CASES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "swish": ("swish.py", [*DENSE, node("Custom", "swish", [3], op_type="scaled_swish", beta="1.5")]),
    "moon": ("moon.py", [*DENSE, node("null", "label", []), node("MoonOutput", "moon", [3, 4])]),
    "ctc": (
        "ctc.py",
        [*DENSE, node("null", "label", []), node("WarpCTC", "ctc", [3, 4], label_length="2", input_length="2")],
    ),
    "levels": (
        "levels.py",
        [*DENSE, node("Custom", "levels", [3], op_type="levels", count="5"), node("Flatten", "flat", [4])],
    ),
}


@pytest.fixture(params=CASES)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path, Path]:
    """An example's name, its symbol and its plugin."""
    name: str = request.param
    file, nodes = CASES[name]
    plugin = tmp_path / file
    plugin.write_text(EXAMPLES[file])
    return name, symbol(tmp_path, name, nodes), plugin


@pytest.fixture
def levels(tmp_path: Path) -> tuple[Path, Path]:
    """The symbol and the plugin of the operator with a domain of its own."""
    plugin = tmp_path / "levels.py"
    plugin.write_text(EXAMPLES["levels.py"])
    return symbol(tmp_path, "levels", CASES["levels"][1]), plugin


def test_without_the_plugin_the_operator_is_unknown(example: tuple[str, Path, Path], graphir: Command) -> None:
    told = graphir("convert", example[1], example[1].with_suffix(".onnx"))
    assert told.code == 1
    assert "cannot be imported" in told.err


def test_an_example_is_converted_and_verified(example: tuple[str, Path, Path], graphir: Command) -> None:
    name, source, plugin = example
    target = source.with_suffix(".onnx")
    told = graphir("convert", source, target, "--plugin", plugin, "-i", "data:N,3", "--verify", "--json")
    assert told.code == 0, told.err
    decisions = [one for one in told.data["decisions"] if one["kind"] == "plugin"]
    assert [str(plugin) in one["text"] for one in decisions] == [True]
    judged = json.dumps(told.data["verification"])
    assert ("by the plugin's own numpy" in judged) == (name == "levels")
    assert [one.name for one in onnx.load(target).graph.input] == ["data"]


@pytest.mark.parametrize("command", ["check", "layers", "summary", "cost", "shapes", "memory", "plot", "padding"])
def test_commands_that_read_a_model_take_plugins(
    command: str, example: tuple[str, Path, Path], graphir: Command, tmp_path: Path
) -> None:
    _, source, plugin = example
    more = [tmp_path / "out.svg"] if command == "plot" else []
    without = graphir(command, source, *more, "-i", "data:2,3")
    assert without.code == (0 if command == "plot" else 1)  # a picture shows what the file states
    told = graphir(command, source, *more, "--plugin", plugin, "-i", "data:2,3")
    assert told.code == 0, told.err


def test_two_models_and_benchmarks(example: tuple[str, Path, Path], graphir: Command) -> None:
    name, source, plugin = example
    named = ("--plugin", plugin, "-i", "data:2,3")
    assert graphir("diff", source, source, *named).code == 0
    target = source.with_suffix(".onnx")
    assert graphir("convert", source, target, *named).code == 0
    told = graphir("verify", source, target, *named, "--per-layer")
    assert told.code == 0, told.err + told.out
    told = graphir("bench", target, "--plugin", plugin, "--seconds", "0.05", "-i", "data:2,3")
    assert told.code == (name == "levels"), told.err  # which no runtime has a kernel for
    assert ("com.example:Levels" in told.err) == (name == "levels")


def test_the_rule_of_an_operator_takes_part_in_inference(levels: tuple[Path, Path], graphir: Command) -> None:
    source, plugin = levels
    told = graphir("shapes", source, "--plugin", plugin, "-i", "data:N,3")
    assert "float32[N, 4, 5]" in told.out
    assert "float32[N, 20]" in told.out


def test_a_domain_of_ones_own_goes_out_and_comes_back(levels: tuple[Path, Path], tmp_path: Path) -> None:
    source, plugin = levels
    target, own = tmp_path / "net.onnx", tmp_path / "net.graphir.json"
    with plugins.using(plugin):
        graph = library.load(source, shapes={"data": ("N", 3)})
        library.save(graph, target)
        library.save(graph, own)
        again, held = library.load(target), library.load(own)
        assert [str(one.op) for one in again.nodes] == [str(one.op) for one in held.nodes]
        assert again.outputs[0].type == held.outputs[0].type == graph.outputs[0].type
        feeds = {"data": np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)}
        (found,) = library.Session(target).run(feeds).values()
        assert found.shape == (7, 20)
        assert np.array_equal(found.reshape(7, 4, 5).sum(-1), np.ones((7, 4)))
    model = onnx.load(target)
    assert {entry.domain: entry.version for entry in model.opset_import}["com.example"] == 1
    (made,) = [one for one in model.graph.node if one.domain == "com.example"]
    assert (made.op_type, made.attribute[0].name, made.attribute[0].i) == ("Levels", "count", 5)
    assert any(type(one.op).__name__ == "Foreign" for one in library.load(target).nodes)
    with pytest.raises(library.RunError, match="refuses the model"):
        library.Session(target)
    with pytest.raises(library.UnsupportedOpError, match="Levels"):
        library.load(own)


def test_the_python_of_the_page(levels: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.docs.pages import steps

    monkeypatch.chdir(levels[1].parent)
    (shown,) = [step for step in steps(PAGE.read_text()) if "plugins.using" in step.text]
    document = json.loads(levels[0].read_text())
    document["nodes"] = [node("null", "data", []), node("Custom", "levels", [0], op_type="levels", count="4")]
    document |= {"arg_nodes": [0], "heads": [[1, 0, 0]]}
    levels[0].write_text(json.dumps(document))
    done = subprocess.run(
        [sys.executable, "-c", shown.text], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, shown.wanted), done.stderr


def test_an_export_function_writes_the_operator(levels: tuple[Path, Path], tmp_path: Path, graphir: Command) -> None:
    source, plugin = levels
    text = plugin.read_text()
    lines = "    node.emit('OtherLevels', node.input_names(), domain='com.other', levels=node.op.count)"
    text = text.replace("def register", f"def export(node):\n{lines}\n\n\ndef register")
    plugin.write_text(text.replace("compute=compute_levels)", "compute=compute_levels, export=export)"))
    target = tmp_path / "net.onnx"
    assert graphir("convert", source, target, "--plugin", plugin, "-i", "data:2,3").code == 0
    model = onnx.load(target)
    onnx.checker.check_model(model)
    (made,) = [one for one in model.graph.node if one.domain == "com.other"]
    assert (made.op_type, made.attribute[0].name, made.attribute[0].i) == ("OtherLevels", "levels", 5)


def test_mxnet_cannot_hold_it(levels: tuple[Path, Path], tmp_path: Path, graphir: Command) -> None:
    source, plugin = levels
    told = graphir("convert", source, tmp_path / "out-symbol.json", "--plugin", plugin, "-i", "data:2,3")
    assert told.code == 1
    assert "Levels: 1 node (levels_output)" in told.err or "Levels: 1 node (levels)" in told.err


BAD = {
    "raise ValueError('no')": r"bad\.py, line 1, in <module>: ValueError: no",
    "def register(registry:": r"bad\.py, line 1: SyntaxError",
    "x = 1": r"bad\.py: a plugin defines a function register",
    "def register(registry):\n    registry.nothing()": r"bad\.py, line 2, in register: AttributeError",
    "def register(registry):\n    registry.source('mxnet', 'MoonOutput', 3)": r"bad\.py: 3 is no function",
    "def register(registry):\n    registry.source('caffe', 'A', print)": r"bad\.py: operators are read of mxnet",
    "def register(registry):\n    registry.operator(int)": r"bad\.py: .* is no operator class",
    "def register(registry):\n    registry.source('mxnet', 'Convolution', print)": "graphir reads Convolution itself",
    "def register(registry):\n    registry.source('mxnet', 'Custom', print)": "state Custom:my_type",
    "def register(registry):\n    for _ in 'ab': registry.source('mxnet', 'A', print)": "stated twice",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_plugin_that_cannot_be_used_is_told_with_its_line(text: str, tmp_path: Path, graphir: Command) -> None:
    plugin = tmp_path / "bad.py"
    plugin.write_text(text)
    source = symbol(tmp_path, "moon", CASES["moon"][1])
    told = graphir("summary", source, "--plugin", plugin)
    assert told.code == 1
    assert re.search(BAD[text], told.err), told.err
    assert "defect of graphir" not in told.err


FAILING = {
    "    return None": r"MoonOutput gave None, expected values",
    "    return node.input(7)": r"input 7 is missing",
    "    node.refuse('it is bad')": r"it is bad",
    "    return node.attrs['no']": r"bad\.py, line 3, in imports: KeyError",
    "    return [node.input(0)] * 2": r"gave 2 values for 1 outputs",
}


@pytest.mark.parametrize("body", FAILING, ids=range(len(FAILING)))
def test_an_import_function_that_fails_is_told_with_its_line(body: str, tmp_path: Path, graphir: Command) -> None:
    plugin = tmp_path / "bad.py"
    stated = "    registry.source('mxnet', 'MoonOutput', imports, inputs=('data', 'label'), unread=('label',))"
    plugin.write_text(f"\ndef imports(node):\n{body}\n\ndef register(registry):\n{stated}\n")
    source = symbol(tmp_path, "moon", CASES["moon"][1])
    told = graphir("summary", source, "--plugin", plugin)
    assert told.code == 1
    assert re.search(FAILING[body], told.err), told.err
    assert "defect of graphir" not in told.err


def test_a_rule_that_fails_is_told_with_its_line(levels: tuple[Path, Path], graphir: Command) -> None:
    source, plugin = levels
    line = 1 + plugin.read_text().splitlines().index("    def infer(self, x):") + 1
    plugin.write_text(plugin.read_text().replace("return TensorType(", "return nothing("))
    told = graphir("summary", source, "--plugin", plugin)
    assert told.code == 1
    assert f"levels.py, line {line}, in infer: NameError" in told.err


def test_a_computation_that_fails_is_told_with_its_line(levels: tuple[Path, Path], graphir: Command) -> None:
    source, plugin = levels
    plugin.write_text(plugin.read_text().replace("np.clip(", "np.nothing("))
    told = graphir("convert", source, source.with_suffix(".onnx"), "--plugin", plugin, "-i", "data:2,3", "--verify")
    assert told.code == 1
    assert re.search(r"levels\.py, line \d+, in compute_levels: AttributeError", told.err), told.err


def test_an_attribute_that_is_missing_or_unfit_is_told(tmp_path: Path, graphir: Command) -> None:
    plugin = tmp_path / "levels.py"
    plugin.write_text(EXAMPLES["levels.py"])
    unfit: tuple[tuple[dict[str, str], str], ...] = (
        ({}, "wants the attribute count"),
        ({"count": "x"}, "the attribute count of Custom:levels is 'x'"),
    )
    for attrs, text in unfit:
        nodes = [*DENSE, node("Custom", "levels", [3], op_type="levels", **attrs)]
        told = graphir("summary", symbol(tmp_path, "levels", nodes), "--plugin", plugin)
        assert told.code == 1
        assert text in told.err


def test_a_file_that_is_not_there(tmp_path: Path, graphir: Command) -> None:
    told = graphir("summary", symbol(tmp_path, "moon", CASES["moon"][1]), "--plugin", tmp_path / "no.py")
    assert told.code == 1
    assert "no.py: No such file" in told.err


def test_two_plugins_that_state_one_operator(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(EXAMPLES["moon.py"])
    with pytest.raises(PluginError, match="both state MoonOutput"), plugins.using(tmp_path / "a.py", tmp_path / "b.py"):
        pass


def test_names_of_graphirs_own_are_refused() -> None:
    class Conv(plugins.Operator):
        """A name that is taken."""

        domain = "com.example"

        def infer(self, x: object) -> Any:
            return x

    def of_a_name(registry: Registry) -> None:
        registry.operator(plugins.operator(Conv))

    def without_a_domain(registry: Registry) -> None:
        other = type("Other", (Conv,), {"domain": "", "__doc__": "Without a domain.", "__annotations__": {}})
        registry.operator(plugins.operator(other))

    for register, text in ((of_a_name, "there is an operator Conv already"), (without_a_domain, "has the domain ''")):
        with pytest.raises(PluginError, match=text), plugins.using(register):
            pass


INSTALLED = """
import sys
sys.path.insert(0, "packages")
import graphir
graph = graphir.load("moon-symbol.json", shapes={"data": (2, 3)})
print([made.text for made in graph.decisions if made.kind == "plugin"])
"""


def test_an_installed_package_is_found_when_it_is_needed(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    info = packages / "moon-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moon\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[graphir.plugins]\nmoon = moon_plugin:register\n")
    (packages / "moon_plugin.py").write_text(EXAMPLES["moon.py"])
    symbol(tmp_path, "moon", CASES["moon"][1])
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", INSTALLED], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "moon_plugin:register (installed as moon)" in done.stdout


KNOWN_ONLY = """
import sys
import graphir
from pathlib import Path
graphir.load(sys.argv[1])
assert "importlib.metadata" not in sys.modules, "entry points were looked up"
"""


def test_entry_points_are_not_looked_up_for_known_operators(digits: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KNOWN_ONLY, str(digits)], env={"PYTHONPATH": str(ROOT), "PATH": ""}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_plugin_file_is_not_run_because_a_model_lies_beside_it(tmp_path: Path, graphir: Command) -> None:
    (tmp_path / "moon.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n{EXAMPLES['moon.py']}")
    nodes = [*DENSE, node("null", "label", []), node("MoonOutput", "moon", [3, 4], plugin="moon.py")]
    source = symbol(tmp_path, "moon", nodes)
    assert graphir("summary", source).code == 1
    assert not (tmp_path / "ran").exists()
    assert graphir("summary", source, "--plugin", tmp_path / "moon.py").code == 0
    assert (tmp_path / "ran").exists()
