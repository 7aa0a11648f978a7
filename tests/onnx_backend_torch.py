"""onnx's own backend suite in PyTorch: read by graphir, written as a module, run by torch.

    python -m tests.onnx_backend_torch [-v] [OPERATOR ...]

Says how many models give the suite's outputs within the suite's tolerances, which are refused and why, and which are
wrong. With operators, only models that use one of them. Exit 1 if any is wrong that does not draw at random.

Two kinds that miss the suite's tolerances are not wrong:
- `rounding`: float16 or bfloat16 within two units in the last place. The suite's tolerance of 0.001 is less than one
  unit of bfloat16 (0.0078). Its softmax adds the powers in bfloat16 one after the other, torch adds them in float32.
- `onnxruntime`: onnxruntime gives the module's numbers for the model as it is. So in Resize with align_corners and
  scales: the suite scales by a size of 2.4, onnxruntime by the 2 elements that there are.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from graphir.converters.onnx import from_model
from graphir.errors import GraphirError, UnsupportedOpError
from tests.converters.pytorch.running import run_module
from tests.onnx_backend import Sample, differs, results, samples

RANDOM = {"Bernoulli", "RandomUniformLike", "RandomNormalLike", "RandomUniform", "RandomNormal", "Multinomial"}
# A unit in the last place, as a part of the number, is at most this.
NARROW = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


@dataclass(frozen=True)
class Outcome:
    """`right`, `wrong` (other numbers), `refused` (with every reason), `fails` (an exception in torch or graphir)."""

    sample: Sample
    verdict: str
    text: str = ""


def outcome(sample: Sample) -> Outcome:
    """What becomes of one model."""
    try:
        graph = from_model(sample.model)
    except GraphirError as error:
        return Outcome(sample, "refused", f"import: {str(error).splitlines()[0]}")
    try:
        for inputs, expected in sample.data:
            feeds = [onnx.numpy_helper.to_array(feed) if isinstance(feed, onnx.TensorProto) else feed
                     for feed in inputs]  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outputs, _ = run_module(graph, feeds)
            for value, ours, theirs in zip(graph.outputs, outputs, expected, strict=True):
                why = differs(ours, theirs, sample.rtol, sample.atol)
                if why:
                    return Outcome(sample, _mistake(sample, ours, theirs), f"{value.name}: {why}")
    except UnsupportedOpError as error:
        gaps = "; ".join(f"{gap.operator}: {gap.reason}" for gap in error.gaps)
        return Outcome(sample, "refused", gaps)
    except Exception as error:  # whatever torch or the written text raises is a failure of the module
        return Outcome(sample, "fails", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    return Outcome(sample, "right")


def _mistake(sample: Sample, ours: Any, expected: Any) -> str:
    """Return the verdict on an output that misses the suite's tolerances."""
    if sample.operators & RANDOM:
        return "random"
    if isinstance(expected, onnx.TensorProto):
        expected = onnx.numpy_helper.to_array(expected)
    ours, theirs = np.asarray(ours), np.asarray(expected)
    if ours.dtype == theirs.dtype and ours.dtype.name in NARROW and ours.shape == theirs.shape:
        limit = 2 * NARROW[ours.dtype.name] * np.abs(theirs.astype(np.float64))
        return "rounding" if (np.abs(ours.astype(np.float64) - theirs) <= limit).all() else "wrong"
    if not mistakes_of_onnxruntime(sample, ours):
        return "onnxruntime"
    return "wrong"


def mistakes_of_onnxruntime(sample: Sample, ours: Any) -> str:
    """Return how onnxruntime's first output for the model as it is differs from an array, "" if it does not."""
    try:
        ((first, *_), *_) = results(sample.model.SerializeToString(), sample)
    except Exception as error:  # onnxruntime raises errors of many kinds
        return str(error)
    return differs(ours, first, sample.rtol, sample.atol)


def outcomes(operators: Sequence[str] = ()) -> Iterator[Outcome]:
    """The outcomes of all models, or of those with one of these operators."""
    wanted = set(operators)
    for sample in samples():
        if not wanted or sample.operators & wanted:
            yield outcome(sample)


def main(arguments: list[str] | None = None) -> int:
    """Print the counts and what is not right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("-v", action="store_true", dest="verbose")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    for result in outcomes(options.operators):
        counts[result.verdict] += 1
        if result.verdict != "right":
            reasons[result.verdict, result.text[:150]] += 1
            if options.verbose or result.verdict in ("wrong", "fails"):
                print(f"{result.verdict:8} {result.sample.name}: {result.text[:250]}", flush=True)
    for (verdict, text), count in reasons.most_common(60):
        print(f"{count:5} {verdict}: {text}")
    print(dict(counts))
    return int(counts["wrong"] + counts["fails"] > 0)


if __name__ == "__main__":
    sys.exit(main())
