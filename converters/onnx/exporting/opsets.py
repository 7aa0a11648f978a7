"""Opsets: which can be written, which one a model is written at, and the IR version that goes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.converters.onnx.exporting.signatures import newest_opset as newest_opset
from graphir.converters.onnx.files.notes import METADATA_SINCE
from graphir.converters.onnx.files.records import FIELD
from graphir.runtime.kernels import releases

OLDEST_OPSET = 13
# Of models that do not come from ONNX: what every onnxruntime of the last years opens.
DEFAULT_OPSET = 17
# Initializers are no inputs from this IR version on.
OLDEST_IR = 4
# ONNX's releases: the IR version by the first opset that came with it, for ONNX's own domain and for that of trees.
IR_VERSIONS = (
    *((28, 14), (25, 13), (24, 12), (23, 11), (21, 10), (19, 9), (15, 8), (12, 7), (11, 6), (10, 5), (9, 4)),
    (1, 3),
)
ML_IR_VERSIONS = ((5, 10), (4, 9), (3, 8), (2, 6), (1, 3))


def newest_run() -> int:
    """Return the newest opset that is written and that a released onnxruntime opens."""
    return min(newest_opset(), releases()[-1].opset)


def ir_version_of(opset: int, domains: Mapping[str, int] | None = None) -> int:
    """Return the IR version of the ONNX release that brought an opset, and those of other domains.

    >>> ir_version_of(17), ir_version_of(21), ir_version_of(17, {"ai.onnx.ml": 5})
    (8, 10, 10)
    """
    version = _version_at(IR_VERSIONS, opset)
    if domains and "ai.onnx.ml" in domains:
        version = max(version, _version_at(ML_IR_VERSIONS, domains["ai.onnx.ml"]))
    return version


def _version_at(table: Sequence[tuple[int, int]], version: int) -> int:
    return next((value for since, value in table if since <= version), table[-1][1])


def ir_version(
    metadata: Mapping[str, str], source: int | None, opset: int, domains: Mapping[str, int], *, has_notes: bool
) -> int:
    """Return the IR version of a file: that of its source where it stays at the source's opset, else the opset's own.

    `source` is the opset that the model came from, `has_notes` whether inner metadata is to be written.
    """
    needed = METADATA_SINCE if has_notes else OLDEST_IR
    stated = metadata.get(f"{FIELD}ir_version", "")
    if source is not None and stated.isdecimal():
        if source == opset:
            return max(int(stated), needed)
        if source < opset <= OLDEST_OPSET:
            return max(int(stated), ir_version_of(opset, domains), needed)
    return max(ir_version_of(opset, domains), needed)
