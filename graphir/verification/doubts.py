"""What is asked where outputs agree and show little: layers inside, and what ends as infinity in a narrow type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from .bench import Bench
from .noise import infinite_values
from .report import VerificationReport

Array = NDArray[Any]
LAYERS_INSIDE = 8


def look_inside(bench: Bench, report: VerificationReport, numb: Sequence[str], *, blind: bool) -> None:
    """Where outputs agree and show little (they are in doubt, or `numb`: they do not react to the inputs, and `blind`:
    nothing before a head was compared), add the layers that differ."""
    quantized = bench.limits.quantized
    doubtful = any(not found.explained or (quantized and found.relative > 0) for found in report.outputs)
    if not report.ok or not (doubtful or (numb and blind)):
        return
    known = [name for name in bench.layers if name not in bench.reference.outputs]
    _, inside = bench.evaluate((), known if doubtful else known[-LAYERS_INSIDE:])
    report.outputs += [layer for layer in inside if not layer.verdict.passes]
    if numb:
        said = f"the last {len(inside)} layers were compared too" if inside else "other ones say more (--feeds)"
        report.notes.append(f"{', '.join(numb)} does not react to small changes of these inputs: {said}")


def look_for_overflow(bench: Bench, report: VerificationReport) -> None:
    """Add the layers that overflow in a narrow type. onnxruntime's CPU keeps float16 in float32 between operators, so
    that outputs do not show what ends as infinity on hardware that computes in float16; a value that is asked for is
    rounded."""
    suspects = set(infinite_values(bench.candidate, bench.feeds))
    made = bench.candidate.structure.producers
    behind = {name: operands[0] for name, (op_type, operands) in made.items() if op_type == "Cast"}
    narrow = {
        source: place
        for source, name in bench.layers.items()
        for place in (name, behind.get(name, name))
        if place in suspects
    }
    _, inside = replace(bench, layers=narrow).evaluate((), narrow)
    report.outputs += [layer for layer in inside if not layer.verdict.passes and math.isinf(layer.relative)]
    unknown = sorted(suspects - set(narrow.values()))
    if unknown:
        report.notes.append(f"infinite in a narrow type, with nothing to compare: {', '.join(unknown[:5])}")


def is_numb(output: Array, floor: float) -> bool:
    return floor == 0 and output.dtype.kind in "fV" and output.size > 0


__all__ = ["is_numb", "look_for_overflow", "look_inside"]
