"""The models of `shared` in float16 and bfloat16: which convert, how much smaller they are, how far they are off.

    python -m tests.models.half_rows [DTYPE...] [--only TEXT]

prints the rows of the table in docs/half_precision.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

import graphir
from graphir.passes.half import HALF
from tests.models.test_shared_models import MODELS, parameters, read
from tests.requirements import shared_folder

ONNX = (
    *("burn-mnist", "dtln-1", "dtln-2", "magika-v3_3", "onnxpkg-light-inception-v1", "onnxpkg-light-shufflenet"),
    *("silero-vad-16k-op15", "tract-bidi-lstm", "ultraface-rfb-320", "xdl-blaze-dnn"),
)
TENSORFLOW = ("facialrecog", "tf2onnx-ae0", "tf2onnx-lstm")
ALL = (*MODELS, *(f"onnx/{name}" for name in ONNX), *(f"tf/{name}" for name in TENSORFLOW))


class Row(NamedTuple):
    """One model: bytes before and after, layers that stayed, the verdict, the largest difference and its limit."""

    model: str
    before: int
    after: int
    kept: int
    ok: bool
    relative: float
    limit: float

    def __str__(self) -> str:
        sizes = f"{self.before:,} | {self.after / self.before:.2f}"
        return f"| {self.model} | {sizes} | {self.kept} | {self.relative:.1e} | {self.limit:.1e} | {self.ok} |"


def source(shared: Path, model: str) -> tuple[Path, dict[str, Any], dict[str, NDArray[Any]]]:
    """The file, what `load` has to be told of it, and the recorded inputs."""
    folder = shared / "models" / model
    facts, golden = read(folder)
    feeds = {key.removeprefix("input:"): array for key, array in golden.items() if key.startswith("input:")}
    if not model.startswith("mxnet"):
        shapes = {name.removesuffix(":0"): array.shape for name, array in feeds.items()} if model[0] == "t" else None
        return next(folder.glob("model.onnx"), folder / "frozen.pb"), {"shapes": shapes}, feeds
    shapes = {name: tuple(shape) for name, shape in facts["inputs"].items()}
    return folder / "model-symbol.json", {"shapes": shapes, "params": parameters(shared, folder, facts)}, feeds


def half_row(shared: Path, model: str, dtype: str, folder: Path) -> Row:
    """Convert and verify one model on its recorded inputs."""
    path, given, recorded = source(shared, model)
    whole, made = folder / "whole.onnx", folder / "made.onnx"
    graph = graphir.load(path, **given)
    graphir.save(graph, whole, weights="inline")
    names = [value.name for value in graph.inputs]
    feeds = {name: array for key, array in recorded.items() for name in (key, key.removesuffix(":0")) if name in names}
    report = graphir.convert(
        path, made, **given, feeds=feeds, weights="inline", dtype=dtype, verify=True, against="reference"
    )
    found = report.verification
    assert found is not None
    worst = max(found.outputs, key=lambda one: one.relative / max(one.limit, 1e-9))
    kept = len(report.grouped_decisions().get("kept float32", ()))
    sizes = os.path.getsize(whole), os.path.getsize(made)
    return Row(model, *sizes, kept, all(one.verdict.passes for one in found.outputs), worst.relative, worst.limit)


def main(words: list[str]) -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dtypes", nargs="*", default=HALF)
    parser.add_argument("--only", default="")
    options = parser.parse_args(words)
    shared = shared_folder()
    assert shared is not None
    for dtype in options.dtypes:
        for model in (name for name in ALL if options.only in name):
            with tempfile.TemporaryDirectory() as folder:
                sys.stdout.write(f"{dtype} {half_row(shared, model, dtype, Path(folder))}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
