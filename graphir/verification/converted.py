"""The accuracy of a source model and of what it was converted to, on the user's labelled data."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.verification.accuracy import AccuracyReport, compare_accuracy, split_labels
from graphir.verification.candidate import OnnxCandidate
from graphir.verification.equivalence import Reference

if TYPE_CHECKING:
    from graphir.converters.mxnet.source import MXNetSource

PathLike = str | os.PathLike[str]


def measure_accuracy(
    source: MXNetSource | None,
    graph: Graph,
    candidate: Graph | PathLike,
    labelled: PathLike,
    *,
    against: str = "auto",
    providers: str | Sequence[str] = "cpu",
    progress: Callable[[str], None] | None = None,
) -> AccuracyReport:
    """Run source and candidate over the samples of an .npz (arrays by input name, and `label`) and count.

    The source runs in the numpy reference of MXNet, with `against="live"` in MXNet itself; without an MXNet source the
    graph runs in onnxruntime without optimisations. Raises VerificationError if the data do not fit the model.
    """
    from graphir.verification.feeds import read_npz
    from graphir.verification.references import RuntimeReference, mxnet_reference

    name = Path(labelled).name
    feeds, labels = split_labels(read_npz(labelled), [value.name for value in graph.inputs], name)
    for value in graph.inputs:
        if value.rank is not None and value.rank != feeds[value.name].ndim:
            found = list(feeds[value.name].shape)
            raise VerificationError(f"{name}: {value.name} is {found}, but the model's input is {value.type}")
    reference: Reference
    if source is None:
        reference = RuntimeReference(graph)
    else:
        reference = mxnet_reference(source, "live" if against == "live" else "reference", None)
    with OnnxCandidate(candidate, providers=providers) as under_test:
        output, before, after, differing = compare_accuracy(
            reference.run, under_test.run, feeds, labels, batch=_fixed_batch(graph), progress=progress
        )
        label = under_test.label
    return AccuracyReport(name, output, len(labels), reference.label, label, before, after, differing)


def _fixed_batch(graph: Graph) -> int | None:
    """The size of the first axis that the inputs insist on, None if it is open."""
    sizes = {value.shape[0] for value in graph.inputs if value.shape}
    fixed = {size for size in sizes if isinstance(size, int)}
    if len(fixed) > 1:
        raise VerificationError(f"the inputs have different batch sizes: {sorted(fixed)}")
    return fixed.pop() if fixed else None


__all__ = ["measure_accuracy"]
