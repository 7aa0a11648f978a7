"""Screenshots of every kind of report page, at 1280 and 390 pixels, in light and in dark; and the README's pictures.

`python -m tools.screenshots OUT` makes pages of models of our own in OUT and a PNG of each: conversion, verification,
per-layer, diff, padding, registry. Pages that are named after OUT are shot too. `--docs` writes docs/pictures instead.
It needs a Chromium (on the path, or named by GRAPHIR_BROWSER) and the extras `cpu` and `plot`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import graphir
from models.layers import seeded
from models.mobilenet import mobilenet_v2
from tests.report.browser import Browser, browser_path

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ("digits-symbol.json", "digits-0020.params")
WIDTHS = (1280, 390)
PICTURES = ROOT / "docs/pictures"
# graphir's exit codes that come with a report: done, different, not proven; 1 where some of a registry failed.
REPORTED = (0, 1, 4, 5)


def main() -> int:
    """Make the pages and their pictures. Raises CalledProcessError where a command fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("out", metavar="OUT", type=Path, nargs="?", help="the folder for pages and pictures")
    parser.add_argument("pages", metavar="PAGE", type=Path, nargs="*", help="further pages to shoot")
    parser.add_argument("--docs", action="store_true", help="write the pictures of the documentation, docs/pictures")
    options = parser.parse_args()
    if (options.out is None) != options.docs:
        parser.error("either OUT or --docs is needed")
    path = browser_path()
    if path is None:
        parser.error("no Chromium is at hand: put one on the path, or name it in GRAPHIR_BROWSER")
    with Browser(path) as browser:
        if options.docs:
            write_documentation(browser)
        else:
            options.out.mkdir(parents=True, exist_ok=True)
            pages = [*make_pages(options.out), *options.pages]
            shoot(browser, pages, options.out)
    return 0


def shoot(browser: Browser, pages: list[Path], out: Path) -> None:
    """A PNG of each page for each width and scheme. Raises SystemExit where a page's script fails."""
    for page in pages:
        name = page.parent.name if page.stem in ("index", "report") else page.stem
        for width in WIDTHS:
            for dark in (False, True):
                browser.open(page, width=width, dark=dark)
                if browser.errors:
                    raise SystemExit(f"{page}: {browser.errors}")
                shot = out / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                shot.write_bytes(browser.picture())
                print(shot)


def make_pages(out: Path) -> list[Path]:
    """The pages, of models of our own, most of them with something to find."""
    bring_digits(out)
    for seed in (0, 1):
        graphir.save(mobilenet_v2(seeded(seed), size=96, classes=10), out / f"net-{seed}.onnx")
    edit(out / "net-0.onnx", out / "damaged.onnx", damage)
    edit(out / "net-0.onnx", out / "port.onnx", pad_elsewhere)
    fold(out / "net-0.onnx", out / "folded.onnx")
    (out / "broken.onnx").write_bytes(b"<!DOCTYPE html>")
    digits = ["-i", "data:1,1,8,8", "--against", "reference"]
    run(out, "convert", DIGITS[0], "digits.onnx", *digits, "--verify", "--per-layer", "--report", "conversion.html")
    run(out, "verify", DIGITS[0], "digits.onnx", *digits, "--report", "verification.html")
    run(out, "verify", "net-0.onnx", "damaged.onnx", "--per-layer", "--report", "per-layer.html")
    run(out, "diff", "net-0.onnx", "folded.onnx", "--report", "diff.html")
    run(out, "diff", "net-0.onnx", "net-1.onnx", "--report", "retrained.html")
    run(out, "padding", "net-0.onnx", "port.onnx", "--report", "padding.html")
    run(out, "padding", "net-0.onnx", "--report", "windows.html")
    models = [*DIGITS[:1], "net-0.onnx", "broken.onnx"]
    run(out, "convert-all", *models, "--out", "registry", "--verify", "--against", "reference")
    names = ("conversion", "verification", "per-layer", "diff", "retrained", "padding", "windows")
    return [*(out / f"{name}.html" for name in names), out / "registry/index.html"]


def bring_digits(out: Path) -> None:
    """The files of the digits network, to be named without their folder."""
    for name in DIGITS:
        shutil.copy(ROOT / "models/digits" / name, out / name)


def run(folder: Path, *words: str) -> None:
    """A command of graphir in a folder. Raises CalledProcessError where it makes no report."""
    done = subprocess.run([sys.executable, "-m", "graphir", *words, "-q"], cwd=folder, check=False)
    if done.returncode not in REPORTED:
        done.check_returncode()


def edit(source: Path, target: Path, change: Callable[[Any], None]) -> None:
    """A copy of an ONNX file with something done to its graph."""
    import onnx

    model = onnx.load(source)
    change(model.graph)
    onnx.save(model, target)


def damage(graph: Any) -> None:
    """Turn the sign of one filter in the middle."""
    from onnx import numpy_helper

    kernels = [held for held in graph.initializer if len(held.dims) == 4]
    kernel = kernels[len(kernels) // 2]
    array = numpy_helper.to_array(kernel).copy()
    array[0] *= -1
    kernel.CopyFrom(numpy_helper.from_array(array, kernel.name))


def pad_elsewhere(graph: Any) -> None:
    """Pad before what TensorFlow's SAME pads behind."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "auto_pad" and attribute.s == b"SAME_UPPER":
                attribute.s = b"SAME_LOWER"


def fold(source: Path, target: Path) -> None:
    """The model as onnxruntime simplifies it: batch normalizations are part of convolutions."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def write_documentation(browser: Browser) -> None:
    """docs/pictures: the head of a report, in light and in dark, and a picture of the network."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        bring_digits(out)
        how: Sequence[str] = ("-i", "data:1,1,8,8", "--verify", "--per-layer", "--against", "reference")
        run(out, "convert", DIGITS[0], "digits.onnx", *how, "--report", "report.html")
        for dark in (False, True):
            browser.open(out / "report.html", width=1000, height=1010, dark=dark)
            (PICTURES / f"report-{'dark' if dark else 'light'}.png").write_bytes(browser.picture(whole=False))
        run(out, "plot", DIGITS[0], "plot.svg", "-i", "data:1,1,8,8")
        shutil.copy(out / "plot.svg", PICTURES / "plot.svg")


if __name__ == "__main__":
    sys.exit(main())
