"""`graphir convert MODEL net.py`: what is written, and that the proof finds what is wrong in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import onnx
import onnx.parser
import pytest
from safetensors.numpy import load_file

import graphir
from graphir.cli import main
from graphir.converters.formats import Judge
from graphir.converters.pytorch.exporting.exporter import TorchModule, export_copy
from graphir.converters.pytorch.live.process import LiveTorch
from graphir.verification.models import verify_conversion
from graphir.verification.options import ComparisonOptions
from graphir.verification.pairs.sides import Sides
from graphir.verification.report import VerificationReport
from tests.converters.pytorch.running import need_torch

DIGITS = Path(__file__).parents[3] / "models" / "digits"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """digits as a module, with its weights beside it."""
    need_torch()
    path = tmp_path_factory.mktemp("torch") / "net.py"
    assert main(["convert", str(DIGITS), str(path), "--verify"]) == 0
    return path


def test_a_person_could_have_written_it(written: Path) -> None:
    text = written.read_text(encoding="ascii")
    assert "        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)\n" in text
    assert "        self.bn1 = nn.BatchNorm2d(16, eps=2e-05)\n" in text
    assert "        self.fc1 = nn.Linear(128, 48)\n" in text
    assert "    def forward(self, x: Tensor) -> Tensor:\n" in text
    assert len(text.splitlines()) < 50


def test_ruff_and_mypy_have_nothing_to_say(written: Path) -> None:
    for words in (["ruff", "check", "--isolated"], ["ruff", "format", "--isolated", "--check"], ["mypy", "--strict"]):
        command = [sys.executable, "-m", *words, written.name]
        done = subprocess.run(command, cwd=written.parent, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_file_alone_is_enough(written: Path, tmp_path: Path) -> None:
    """It needs torch and safetensors, and finds its weights from any folder."""
    program = (
        f"import sys; sys.path.insert(0, {str(written.parent)!r}); import net, torch\n"
        "assert not any(name.split('.')[0] in ('graphir', 'onnx', 'torchvision') for name in sys.modules)\n"
        "model = net.load()\n"
        "assert not model.training\n"
        "out = model(torch.zeros(5, 1, 8, 8))\n"
        "assert out.shape == (5, 10) and torch.allclose(out.sum(1), torch.ones(5))\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_a_module_is_not_read(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(DIGITS), str(written)]) == 1
    assert "not a model that graphir reads" in capsys.readouterr().err


def verified(module: TorchModule, graph: graphir.Graph) -> VerificationReport:
    judge = Judge(partial(LiveTorch, module.text("a test"), module, sys.executable))
    how = ComparisonOptions(per_layer=True)
    return verify_conversion([judge], graph, graph, graph, how, sides=Sides(module.graph, graph, made_of=True))


def test_a_wrong_module_is_found_with_the_layer(written: Path) -> None:
    graph = graphir.load(DIGITS)
    assert isinstance(graph, graphir.Graph)
    assert verified(export_copy(graph), graph).verdict.passes
    for attribute, right, wrong in FAULTS:
        module = export_copy(graph)
        for net in (module.design.classes[-1], module.flat.classes[-1]):
            changed = [line.replace(right, wrong) if f"self.{attribute} " in line else line for line in net.init_lines]
            assert changed != net.init_lines
            net.init_lines[:] = changed
        report = verified(module, graph)
        assert report.verdict.differs, (attribute, wrong)
        assert report.causes[0].name.startswith(attribute), report.to_text()


FAULTS = (
    ("bn1", "eps=2e-05", "eps=0.2"),
    ("conv1", "padding=1", 'padding=1, padding_mode="reflect"'),
    ("conv2", "padding=1", "padding=(1, 1), dilation=1, padding_mode='circular'"),
)


def test_without_torch_it_is_said_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr("graphir.converters.pytorch.live.process.importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv("GRAPHIR_TORCH_PYTHON", raising=False)
    assert main(["convert", str(DIGITS), str(tmp_path / "net.py"), "--verify"]) == 1
    error = capsys.readouterr().err
    assert "this interpreter has no torch" in error
    assert "net.py was written" in error
    assert (tmp_path / "net.py").exists()


def test_what_weights_are_called_on_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["convert", str(DIGITS), str(tmp_path / "net.py")]
    assert main([*command, "--names", str(tmp_path / "names.json")]) == 0
    rows = json.loads((tmp_path / "names.json").read_text())
    assert {"source": "fc1_weight", "key": "fc1.weight", "shape": [48, 128]} in rows
    assert {row["key"] for row in rows} == set(load_file(tmp_path / "net.safetensors"))
    assert all(row["source"] for row in rows)
    assert main([*command, "--names", str(DIGITS / "digits-symbol.json")]) == 1
    assert "is a file of the source" in capsys.readouterr().err
    assert main(["convert", str(DIGITS), str(tmp_path / "x.onnx"), "--names", str(tmp_path / "names.json")]) == 2
    assert "names is for PyTorch targets" in capsys.readouterr().err


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    """In processes whose sets and hashes have different orders."""
    files = {}
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        words = ["convert", str(DIGITS), str(folder / "net.py"), "--names", str(folder / "names.json"), "--training"]
        command = [sys.executable, "-m", "graphir", *words]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True)
        files[seed] = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(files["1"]) == {"net.py", "net.safetensors", "names.json"}
    assert files["1"] == files["2"]


def test_sizes_that_the_source_refuses_say_nothing(tmp_path: Path) -> None:
    """A reflected padding wider than the usual sizes, which the module takes and onnxruntime does not."""
    need_torch()
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> g (float[N, M] x) => (float[N, L] y) '
        '<int64[4] p = {0, 40, 0, 40}> { y = Pad <mode = "reflect"> (x, p) }'
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    report = graphir.convert(tmp_path / "m.onnx", tmp_path / "m.py", verify=True).verification
    assert report is not None
    assert report.exit_code == 0, report.notes
    assert len(report.sets) > 1
    assert any("usual sizes are not taken" in note for note in report.notes)
