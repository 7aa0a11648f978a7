"""What a TensorFlow model is held against: live TensorFlow, or where there is none the graph that was imported."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

from graphir.converters.tensorflow.live.process import (
    PYTHON_VARIABLE,
    LiveTensorFlow,
    TensorFlowMissing,
    TensorFlowRefuses,
    live_python,
)
from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.verification.equivalence import Reference, VerificationReport

AGAINST = ("auto", "live", "reference")


class TensorFlowModel(NamedTuple):
    """A TensorFlow model on disk, and which of its signatures is meant (None: the usual one)."""

    path: str | os.PathLike[str]
    signature: str | None = None


def against_tensorflow(
    model: TensorFlowModel,
    against: str,
    graph: Graph,
    check: Callable[[Reference], VerificationReport],
    stand_in: Callable[[Graph], Any],
) -> VerificationReport:
    """Check against live TensorFlow, or where no interpreter has it against the imported graph itself, with a note.

    `stand_in` makes a reference of a graph. Raises VerificationError for live TensorFlow that was asked for and is not
    there.
    """
    if against not in AGAINST:
        raise VerificationError(f"against={against!r}: expected one of {', '.join(AGAINST)}")
    python = live_python()
    if against == "live" and python is None:
        raise VerificationError(
            f"live TensorFlow was asked for, but this interpreter has none; set {PYTHON_VARIABLE} to one that has it"
        )
    if against != "reference" and python is not None:
        outputs = [value.name for value in graph.outputs]
        try:
            with closing(LiveTensorFlow(model.path, outputs, python, model.signature)) as live:
                return check(live)
        except TensorFlowMissing:
            if against == "live" or os.environ.get(PYTHON_VARIABLE):
                raise
        except TensorFlowRefuses as error:
            error.add_note(
                "--against reference holds the result against the imported graph instead, which proves the export only"
            )
            raise
    with closing(stand_in(graph)) as reference:
        report = check(reference)
    report.notes.append(
        "the imported graph was the reference, not TensorFlow: this proves the export, and nothing of the import"
        + ("" if against == "reference" else f"; set {PYTHON_VARIABLE} to an interpreter that has TensorFlow")
    )
    return report


__all__ = ["TensorFlowModel", "against_tensorflow"]
