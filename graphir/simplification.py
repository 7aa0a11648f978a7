"""The smallest equal graph of a model, written as ONNX and held against the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from graphir.benchmark import BenchOptions, bench_models
from graphir.conversion import Destination, Proof, Simplification, convert_model
from graphir.converters.opening import read_model
from graphir.converters.options import ModelOptions
from graphir.errors import ArgumentError, GraphirError
from graphir.inputs.given import Feeds
from graphir.report import ConversionReport
from graphir.report.simplification import Measured, SimplificationReport
from graphir.safety.arguments import PathLike, short_forms, with_stated
from graphir.safety.limits import Stated, bounded
from graphir.verification.options import ComparisonOptions

_SHORT_FORMS = {
    **{name: ("model_options", name) for name in ("dtypes", "format", "signature", "inputs", "outputs")},
    **{name: ("comparison", name) for name in ("seed", "rtol", "atol", "providers", "per_layer", "against")},
}


@bounded
@short_forms(_SHORT_FORMS, {"model_options": ModelOptions, "comparison": ComparisonOptions})
def simplify(
    source: PathLike,
    target: PathLike,
    *,
    fuse: bool = False,
    max_growth: int = Simplification.max_growth,
    verify: bool = True,
    opset: int | None = None,
    seconds: float = 2.0,
    feeds: Feeds | None = None,
    params: PathLike | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    model_options: ModelOptions | None = None,
    comparison: ComparisonOptions | None = None,
    progress: Callable[[str], None] | None = None,
    limits: Stated = None,
) -> SimplificationReport:
    """Write the smallest equal graph of a model as an .onnx file, and say what that saved.

    The model's inputs, outputs and opset stay, and no open size becomes a number. With `fuse` operators that the opset
    has are recognised in what spells them out (LayerNormalization, Gelu, ...): an old runtime may lack them. Results of
    more than 65,536 elements that depend on constants alone are stored while they take `max_growth` bytes (1 GiB) in
    all. With `verify` the file is run and compared with the model (see `verify`); the report's `verification` holds the
    outcome, and the file stays either way. `seconds` are spent on latencies, 0 measures none. The other arguments are
    as for `convert`, whose errors are raised here too.
    """
    chosen = with_stated(model_options, ModelOptions, "model_options", params=params, shapes=shapes)
    how = with_stated(comparison, ComparisonOptions, "comparison", feeds=feeds)
    what, proof = Simplification(fuse, max_growth), Proof(how, verify)
    return simplify_model(source, target, what, opset, seconds, chosen, proof, progress)


def simplify_model(
    source: PathLike, target: PathLike, what: Simplification, opset: int | None, seconds: float, options: ModelOptions,
    proof: Proof, progress: Callable[[str], None] | None = None,
) -> SimplificationReport:  # fmt: skip
    """Write the smallest equal graph; see `simplify`."""
    if not os.fspath(target).endswith(".onnx"):
        raise ArgumentError(f"{target}: simplify writes .onnx files; for another format: convert with simplify")
    tell = progress or (lambda stage: None)
    stated = {} if opset is None else {"opset": opset}
    report = convert_model(source, Destination(target, stated, simplification=what), options, proof, tell)
    tell("measuring")
    timing = BenchOptions(seconds=seconds, threads=1, progress=tell) if seconds else None
    rows = [
        Measured("nodes", sum(report.source_operators.values()), sum(report.target_operators.values())),
        Measured("bytes", *_bytes(report)),
        Measured("MACs", *(_macs(path, given) for path, given in ((source, options), (target, ModelOptions())))),
    ]
    return SimplificationReport(report, rows, *_latency(source, target, options, timing))


def _bytes(report: ConversionReport) -> tuple[int, int]:
    return sum(map(os.path.getsize, report.source_files)), sum(file.nbytes for file in report.files)


def _macs(model: PathLike, options: ModelOptions) -> int | str | None:
    """Return the multiply-accumulates, a number or an expression in the open sizes."""
    from graphir.analysis.cost import cost

    count = cost(read_model(model, options).graph).macs
    return count if isinstance(count, int) or count is None else str(count)


def _latency(
    source: PathLike, target: PathLike, options: ModelOptions, how: BenchOptions | None
) -> tuple[Any, str]:
    """Return both models timed in turns, or None and why they could not be. One thread: on a machine with other work a
    second thread that waits for a core was seen to make medians ten times longer."""
    if how is None:
        return None, "not requested: 0 seconds"
    try:
        return bench_models([(source, options), (target, ModelOptions(shapes=options.shapes))], how), ""
    except GraphirError as error:
        return None, str(error).splitlines()[0]
