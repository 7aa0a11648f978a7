"""What a device other than the CPU does to a model's results: said beside the verdict, which it never lifts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from graphir.arrays import Array
from graphir.errors import GraphirError
from graphir.runtime.fallbacks import describe_fallbacks
from graphir.runtime.providers import PROVIDERS
from graphir.runtime.session import OnnxSession

from .equivalence import Models, compare_models
from .numbers.compare import difference
from .report import VerificationReport
from .running.candidate import OnnxCandidate
from .running.layouts import fitted_feeds


def note_devices(models: Models, make: Callable[[], Mapping[str, Array]], report: VerificationReport) -> None:
    """Add to the report's notes how far the same file is from itself on the CPU, and on CUDA with TF32; where it
    differs from the reference, whether it does so on the CPU too. Nothing for a candidate that ran on the CPU, for
    which the feeds that `make` gives are not made.

    The distance from the CPU is no floor: a kernel that is wrong on the device would lift its own limit by it.
    """
    candidate = models.candidate
    first = candidate.session.providers[0]
    if first == PROVIDERS["cpu"]:
        return
    own = first.removesuffix("ExecutionProvider")
    report.notes += describe_fallbacks(candidate.session, candidate.path, candidate.providers)
    feeds = make()
    fitted = fitted_feeds(candidate.fitting, feeds)
    found = candidate.session.run(fitted)
    with OnnxCandidate(candidate.path, providers="cpu") as elsewhere:
        report.notes.append(f"{own} and the CPU {_apart(found, elsewhere.session.run(fitted))}")
        if report.verdict.differs:
            on_cpu = compare_models(Models(models.reference, elsewhere, models.how), feeds).report.verdict
            reason = f"too: what differs is the model, not {own}"
            reason = reason if on_cpu.differs else f": what differs is what {own} computes, not the model"
            report.notes.append(f"on the CPU the same file is {on_cpu}{' ' if on_cpu.differs else ''}{reason}")
    if first == PROVIDERS["cuda"]:  # TensorRT has one setting for a whole process
        try:
            session = OnnxSession(candidate.path, providers=candidate.providers, tf32=True)
            report.notes.append(f"TF32 was off; with it the outputs {_apart(found, session.run(fitted))}")
        except GraphirError as error:
            report.notes.append(f"what TF32 would cost is not known: {str(error).splitlines()[0]}")


def _apart(found: Mapping[str, Array], other: Mapping[str, Array]) -> str:
    """Return how far apart two results of the same outputs are, in words."""
    differences = {name: difference(other[name], array) for name, array in found.items() if array.dtype.kind in "biufV"}
    distances = {
        name: largest / scale if scale and largest else math.inf if largest else 0.0
        for name, (scale, largest, _) in differences.items()
    }
    worst = max(distances, key=distances.__getitem__, default=None)
    if worst is None or not distances[worst]:
        return "agree to the last bit"
    if not math.isfinite(distances[worst]):
        return f"differ in shape or in what is finite ({worst})"
    return f"differ by {distances[worst]:.1e} of an output's scale at most ({worst})"
