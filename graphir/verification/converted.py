"""What was converted, held against what it came from: by numbers, and by accuracy on the user's labelled data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.safety.arguments import PathLike
from graphir.safety.isolation import forwarded
from graphir.verification.accuracy import AccuracyReport, compare_accuracy, split_labels
from graphir.verification.devices import note_devices
from graphir.verification.driver import verify_sets
from graphir.verification.inputs.files import read_npz
from graphir.verification.inputs.given import FeedRequest, plan_of
from graphir.verification.inputs.sets import carried
from graphir.verification.isolated import compare_isolated, run_in_child
from graphir.verification.options import ComparisonOptions
from graphir.verification.pairs.sides import Sides
from graphir.verification.report import VerificationReport
from graphir.verification.running.candidate import OnnxCandidate
from graphir.verification.running.heads import Wiring
from graphir.verification.running.references import hold_against, reference_of

if TYPE_CHECKING:
    from graphir.converters.formats import Judge, Reference



def verify_conversion(
    judges: Sequence[Judge],
    imported: Graph | PathLike,
    graph: Graph,
    candidate: Graph | PathLike,
    how: ComparisonOptions,
    step: float = 0.0,
    sides: Sides | None = None,
) -> VerificationReport:
    """Hold the result of a conversion against those who can compute its source, by the graph that the source became.

    `imported` is what onnxruntime runs where a judge stands for the imported model, `step` that of the coarser type
    that either side computes in. `sides` are the graphs of what the judges compute and of the candidate, which name the
    layers where results begin to differ. The comparison runs in a child process.
    """
    compare = partial(_compared, judges, imported, graph, candidate, step, sides)
    return compare_isolated(compare, how, imported, candidate)


def _compared(
    judges: Sequence[Judge],
    imported: Graph | PathLike,
    graph: Graph,
    candidate: Graph | PathLike,
    step: float,
    sides: Sides | None,
    how: ComparisonOptions,
) -> VerificationReport:
    started = time.perf_counter()
    plan = plan_of(how.feeds, FeedRequest.of(graph, how.seed))
    wiring = Wiring.of(graph)
    with OnnxCandidate(candidate, providers=how.providers, memory=how.memory_budget) as under_test:

        def check(reference: Reference) -> VerificationReport:
            found = verify_sets(
                reference, under_test, carried(plan, reference), graph=graph, how=how, wiring=wiring, step=step,
                sides=sides,
            )  # fmt: skip
            note_devices(reference, under_test, partial(plan.first().like, found.feeds), found, how)
            return found

        report = hold_against(judges, imported, check, memory=how.memory_budget)
        report.placement = under_test.session.nodes()
    report.seconds = time.perf_counter() - started
    return report


def measure_accuracy(
    judge: Judge,
    graph: Graph,
    candidate: Graph | PathLike,
    labelled: PathLike,
    how: ComparisonOptions,
    progress: Callable[[str], None] | None = None,
) -> AccuracyReport:
    """Run source and candidate over the samples of an .npz (arrays by input name, and `label`) and count.

    The source is run by its judge, both in a child process. Raises VerificationError if the data do not fit the model,
    and RunEnded where onnxruntime ends that process.
    """
    return run_in_child(partial(_measured, judge, graph, candidate, labelled, how, forwarded(progress)), how, progress)


def _measured(
    judge: Judge,
    graph: Graph,
    candidate: Graph | PathLike,
    labelled: PathLike,
    how: ComparisonOptions,
    progress: Callable[[str], None] | None,
) -> AccuracyReport:
    name = Path(labelled).name
    feeds, labels = split_labels(read_npz(labelled), [value.name for value in graph.inputs], name)
    for value in graph.inputs:
        if value.rank is not None and value.rank != feeds[value.name].ndim:
            found = list(feeds[value.name].shape)
            raise VerificationError(f"{name}: {value.name} is {found}, but the model's input is {value.type}")
    with (
        closing(reference_of(judge, graph, how.memory_budget)) as reference,
        OnnxCandidate(candidate, providers=how.providers, memory=how.memory_budget) as under_test,
    ):
        output, before, after, differing = compare_accuracy(
            reference.run, under_test.run, feeds, labels, batch=_fixed_batch(graph), progress=progress
        )
        return AccuracyReport(
            name, output, len(labels), reference.label, under_test.label, before, after, differing
        )


def _fixed_batch(graph: Graph) -> int | None:
    """The size of the first axis that the inputs insist on, None if it is open."""
    sizes = {value.shape[0] for value in graph.inputs if value.shape}
    fixed = {size for size in sizes if isinstance(size, int)}
    if len(fixed) > 1:
        raise VerificationError(f"the inputs have different batch sizes: {sorted(fixed)}")
    return fixed.pop() if fixed else None
