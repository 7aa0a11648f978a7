"""onnx's own backend suite in PyTorch: read by graphir, written as a module, run by torch.

    python tests/onnx_backend_torch.py [-v] [OPERATOR ...]

Says how many models give the suite's outputs within the suite's tolerances, which are refused and why, and which are
wrong. With operators, only models that use one of them. Exit 1 if any is wrong that does not draw at random.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx

from graphir.converters.onnx import from_model
from graphir.errors import GraphirError, UnsupportedOpError
from tests.converters.pytorch.running import run_module
from tests.onnx_backend import Sample, differs, samples

RANDOM = {"Bernoulli", "RandomUniformLike", "RandomNormalLike", "RandomUniform", "RandomNormal", "Multinomial"}


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
                found, _ = run_module(graph, feeds)
            for value, ours, theirs in zip(graph.outputs, found, expected, strict=True):
                why = differs(ours, theirs, sample.rtol, sample.atol)
                if why:
                    return Outcome(sample, "random" if sample.operators & RANDOM else "wrong", f"{value.name}: {why}")
    except UnsupportedOpError as error:
        gaps = "; ".join(f"{gap.operator}: {gap.reason}" for gap in error.gaps)
        return Outcome(sample, "refused", gaps)
    except Exception as error:  # whatever torch or the written text raises is a failure of the module
        return Outcome(sample, "fails", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    return Outcome(sample, "right")


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
    for found in outcomes(options.operators):
        counts[found.verdict] += 1
        if found.verdict != "right":
            reasons[found.verdict, found.text[:150]] += 1
            if options.verbose or found.verdict in ("wrong", "fails"):
                print(f"{found.verdict:8} {found.sample.name}: {found.text[:250]}", flush=True)
    for (verdict, text), count in reasons.most_common(60):
        print(f"{count:5} {verdict}: {text}")
    print(dict(counts))
    return int(counts["wrong"] + counts["fails"] > 0)


if __name__ == "__main__":
    sys.exit(main())
