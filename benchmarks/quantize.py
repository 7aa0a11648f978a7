"""What 8 and 4 bits save and cost by `graphir.quantize`: size, latency and error of four networks, as ratios.

    PYTHONPATH=. python benchmarks/quantize.py [--seconds 10]

digits has its trained weights and labelled data. MobileNet and ResNet-50 of `models/` have weights of a seed, as has an
encoder like BERT (4 layers of 256, as PyTorch exports it): their errors say how the arithmetic rounds, nothing of a
task. They are measured in front of the softmax, on smooth random images and random tokens.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import graphir
from models.mobilenet import mobilenet
from models.resnet50 import resnet50

LABELLED = "models/digits/digits-test.npz"
STATIC: dict[str, Any] = {"kind": "static"}
TENSOR: dict[str, Any] = {"kind": "static", "per_channel": False}
DYNAMIC: dict[str, Any] = {"kind": "dynamic"}
INT4: dict[str, Any] = {"kind": "int4"}


def main() -> None:
    """Print one row a network and kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="time to measure each latency")
    seconds = parser.parse_args().seconds
    generator = np.random.default_rng(0)
    images = np.kron(generator.uniform(size=(32, 3, 14, 14)), np.ones((16, 16))).astype(np.float32)
    quantize: Any = graphir.quantize
    print("| network | kind | size | latency (95 % interval) | error | accuracy |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graphir.save(mobilenet(batch="N"), folder / "MobileNet.onnx")
        graphir.save(resnet50(batch="N"), folder / "ResNet-50.onnx")
        export_encoder(folder / "like BERT.onnx")
        tokens = {"ids": generator.integers(0, 1000, (64, 64))}
        digits = {"shapes": {"data": ("N", 1, 8, 8)}, "feeds": LABELLED, "accuracy": LABELLED}
        images_to: dict[str, Any] = {"feeds": {"input": images}}
        eight = (STATIC, TENSOR)
        rows: list[tuple[str | Path, dict[str, Any], tuple[dict[str, Any], ...]]] = [
            ("models/digits", digits, (STATIC, TENSOR, DYNAMIC, INT4)),
            (folder / "MobileNet.onnx", images_to | {"outputs": ["reshape_2"]}, eight),
            (folder / "ResNet-50.onnx", images_to | {"outputs": ["predictions"]}, eight),
            (folder / "like BERT.onnx", {"feeds": tokens}, (STATIC, DYNAMIC, INT4)),
        ]  # fmt: skip
        for source, given, kinds in rows:
            for kind in kinds:
                report = quantize(source, folder / "out.onnx", seconds=seconds, **given, **kind)
                print_row(report, Path(source).stem, kind)
    machine = report.machine
    print(f"\n{machine['cpu']}, {machine['usable_cores']} cores, one thread, onnxruntime {report.onnxruntime}")


def print_row(report: graphir.QuantizationReport, network: str, kind: dict[str, Any]) -> None:
    """Print what one quantization saves and costs."""
    ratio, judged = report.timing.ratio, report.accuracy
    label = kind["kind"] + ("" if kind.get("per_channel", True) else ", one scale a weight")
    accuracy = "" if judged is None else " to ".join(
        f"{100 * correct / judged.samples:.2f} %" for correct in (judged.reference_correct, judged.candidate_correct)
    )  # fmt: skip
    # Too few runs in the time given leave no interval.
    interval = "" if ratio.low is None or ratio.high is None else f" ({ratio.low:.2f} to {ratio.high:.2f})"
    print(
        f"| {network} | {label} | {report.sizes[1] / report.sizes[0]:.2f} | "
        f"{ratio.value:.2f}{interval} | {report.error:.2g} | {accuracy} |", flush=True,
    )  # fmt: skip


def export_encoder(path: Path) -> None:
    """Write a transformer encoder with a classifier, weights of a seed."""
    import torch

    torch.manual_seed(0)

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(1000, 256)
            self.positions = torch.nn.Parameter(torch.randn(64, 256) * 0.1)
            layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, activation="gelu")
            self.layers = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.head = torch.nn.Linear(256, 8)

        def forward(self, ids: Any) -> Any:
            return self.head(self.layers(self.words(ids) + self.positions)[:, 0])

    torch.onnx.export(
        Encoder().eval(), (torch.zeros(2, 64, dtype=torch.int64),), str(path), dynamo=False, opset_version=17,
        input_names=["ids"], output_names=["logits"], dynamic_axes={"ids": {0: "N"}},
    )  # fmt: skip


if __name__ == "__main__":
    main()
