"""No verdict depends on the words of a message: with every sentence reworded, all verdicts are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx

from tests.faults.effect import judged
from tests.faults.harmless import REWRITES
from tests.faults.judge import generator_of, plant
from tests.faults.kinds import FAULTS
from tests.faults.networks import NETWORKS
from tests.verification.reworded import outcomes

PLANTED = [
    ("mlp", "a channel scaled by 1.01"),  # broken, with a cause
    ("mlp", "Dropout in training mode"),  # not deterministic
    ("control", "a turn of a Loop more"),
    ("control", "fmod for mod"),  # whole numbers
    ("detector", "NMS: another overlap"),  # lists of boxes
    ("cnn", "ceil_mode exchanged"),  # a difference that shows in few inputs
    ("quantized", "a slightly other quantization scale"),
    ("half", "a channel scaled by 1.01"),
    ("lstm", "lengths of sequences left out"),
    ("segmentation", "the last index of an ArgMax"),  # shows in no number: not proven
]
HARMLESS = [
    ("mlp", "Softmax by parts"), ("detector", "activations with channels last"), ("cnn", "the model itself"),
    ("quantized", "bias of Conv as Add"),
]  # fmt: skip


def save_pairs(folder: Path) -> None:
    """Write each pair of models into the folder."""
    for kinds, make in ((PLANTED, fault), (HARMLESS, rewrite)):
        for network, kind in kinds:
            onnx.save(judged(NETWORKS[network], 0).model.proto, folder / f"{network} {kind}-first.onnx")
            onnx.save(make(network, kind), folder / f"{network} {kind}-second.onnx")


def fault(network: str, kind: str) -> onnx.ModelProto:
    planted = plant(NETWORKS[network], FAULTS[kind], 0)
    assert planted is not None, (network, kind)
    return planted.proto


def rewrite(network: str, kind: str) -> onnx.ModelProto:
    model = judged(NETWORKS[network], 0).model.clone()
    assert REWRITES[kind].apply(model, generator_of(network, kind, 0)), (network, kind)
    return model.proto


def test_other_words_give_the_same_verdicts(tmp_path: Path) -> None:
    save_pairs(tmp_path)
    expected = outcomes(tmp_path)
    assert len(expected) == len(PLANTED) + len(HARMLESS)
    assert len({found["verdict"] for found in expected.values()}) >= 5
    command = [sys.executable, "-m", "tests.verification.reworded", str(tmp_path)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    assert {name for name in found if found[name].pop("said").count("reworded") > 0} >= {
        name for name in expected if expected[name].pop("said")
    }
    assert found == json.loads(json.dumps(expected))
