"""What a TensorFlow model is held against: live TensorFlow, or where there is none the graph that was imported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from graphir.converters.formats import Judge
from graphir.converters.tensorflow.live.process import PYTHON_VARIABLE, LiveTensorFlow, TensorFlowMissing, live_python
from graphir.errors import VerificationError

IMPORTED = "the imported graph was the reference, not TensorFlow"


def judges(
    path: str | os.PathLike[str], outputs: Sequence[str], signature: str | None, against: str
) -> list[Judge]:
    """Live TensorFlow for these outputs of a model, the imported graph, or both: as asked (`auto`, `live`, `reference`)
    and as available. Raises VerificationError for live TensorFlow where no interpreter has it."""
    if against == "reference":
        return [Judge(note=IMPORTED)]
    python = live_python()
    if against == "live" and python is None:
        raise VerificationError(
            f"live TensorFlow was asked for, but this interpreter has none; set {PYTHON_VARIABLE} to one that has it"
        )
    imported = Judge(note=f"{IMPORTED}; set {PYTHON_VARIABLE} to an interpreter that has TensorFlow")
    if python is None:
        return [imported]
    live = partial(LiveTensorFlow, path, outputs, python, signature)
    if against == "live" or os.environ.get(PYTHON_VARIABLE):
        return [Judge(live)]
    return [Judge(live, {TensorFlowMissing: ""}), imported]


__all__ = ["judges"]
