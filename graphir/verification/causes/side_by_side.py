"""Both parts of a segment run by themselves on the same numbers, and how their results relate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.errors import GraphirError
from graphir.graph import Value
from graphir.ops.traits import Rounding
from graphir.verification.grading.compare import LEAST_STEPS, Comparison
from graphir.verification.grading.local import local_limit, worst_channel
from graphir.verification.inputs.seeded import perturbed
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.not_run import NotRun
from graphir.verification.verdict import Verdict

from .known import Bench
from .segments import Segment, Segments, as_in_graph, compared_inside, unmoved

Array = NDArray[Any]
# The distance from 1 to the next number.
NARROW_STEPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


class SideBySide:
    """Both parts of a segment, run without optimisations."""

    def __init__(self, segments: Segments, segment: Segment, bench: Bench, arrays: Mapping[Value, Array]) -> None:
        self._segments, self._segment, self._memory = segments, segment, bench.candidate.memory
        self._graphs = segment.part(0, arrays), segment.part(1, arrays)
        self._limits = bench.limits if _rounds(segment) else replace(bench.limits, quantized=False)
        self._parts: list[OnnxCandidate] = []
        self.last: Array = np.empty(0)

    def __enter__(self) -> SideBySide:
        self._parts = [OnnxCandidate(graph, optimize=False, memory=self._memory) for graph in self._graphs]
        return self

    def __exit__(self, *exception: object) -> None:
        for part in self._parts:
            part.close()

    def compared(self, fed: Mapping[Value, Array], *, exactly: bool) -> Comparison | NotRun | None:
        """Compare both results on these numbers: None where all of the reference's are infinite or NaN.

        `exactly` says that nothing is computed before what decides about whole numbers: rounding is no excuse for them.
        """
        ours = {value.name: as_in_graph(array, value) for value, array in fed.items()}
        theirs = self._segments.fed(self._segment, fed)
        try:
            expected, found = (self._run(place, names) for place, names in enumerate((ours, theirs)))
            self.last, floor = expected, unmoved(self._segment.value, self._segment.other)
            if not (exactly and expected.dtype.kind in "iub"):
                moved = perturbed(self._graphs[1], self._wanted(1, theirs))
                floor = floor if moved is None else floor.seen(found, self._run(1, moved))
        except GraphirError as error:
            return NotRun.after(error)
        if expected.dtype.kind not in "iubO" and not np.isfinite(expected.astype(np.float64)).any():
            return None
        result = compared_inside(self._segment.value.name, expected, found, floor, self._limits)
        if exactly and result.verdict.passes:
            result = self._as_one_kernel(result, expected, found)
        return replace(result, name=self._segment.value.name)

    def _as_one_kernel(self, result: Comparison, expected: Array, found: Array) -> Comparison:
        """The comparison of one node with one of the same operator where both give a narrow type: one kernel on the
        same numbers rounds each of them once, so no channel may differ by what many layers of that type may."""
        first, second = (nodes[0].op for nodes in self._segment.nodes)
        step = NARROW_STEPS.get(expected.dtype.name, 0.0)
        if not step or expected.dtype != found.dtype or type(first) is not type(second):
            return result
        channel = worst_channel(expected, found, None, LEAST_STEPS * step) if expected.shape == found.shape else None
        if channel is None or not channel.differs:
            return result
        relative, limit = local_limit(channel)
        return replace(
            result, scale=channel.scale, max_abs=channel.max_abs, relative=relative, limit=limit,
            verdict=Verdict.SUSPICIOUS, place=str(channel),
        )  # fmt: skip

    def _wanted(self, place: int, arrays: Mapping[str, Array]) -> dict[str, Array]:
        return {name: arrays[name] for name in self._parts[place].session.inputs}

    def _run(self, place: int, arrays: Mapping[str, Array]) -> Array:
        (found,) = self._parts[place].run(self._wanted(place, arrays)).values()
        return found


def _rounds(segment: Segment) -> bool:
    """Whether one of the parts rounds to 8 bits: what stands between such nodes has no step of 8 bits of its own."""
    return any(node.op.rounding is Rounding.QUANTIZES for nodes in segment.nodes for node in nodes)


__all__ = ["SideBySide"]
