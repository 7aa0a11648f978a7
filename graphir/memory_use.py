"""`graphir.memory`: what a model needs while it runs or trains, why, and what running layers twice would save."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from graphir.analysis.memory.blocks import Blocks, Sharing, plan_blocks
from graphir.analysis.memory.liveness import Alive, Liveness, alive_at, find_liveness
from graphir.analysis.memory.program import Program
from graphir.analysis.memory.recompute.problem import Found
from graphir.graph import Graph
from graphir.structure.printed import Printed

if TYPE_CHECKING:
    from graphir.converters.formats import Source
    from graphir.converters.mxnet.memory.plan import Planned, Switches
    from graphir.converters.options import ModelOptions

SECONDS = 60.0


@dataclass(frozen=True)
class MemoryQuestion:
    """What is asked: training or one run, MXNet's own count of bytes, a budget or the least memory.

    `switches` are MXNet's environment variables, None for their defaults; `seconds` what a search for a plan may take.
    """

    training: bool = False
    mxnet: bool = False
    budget: int | None = None
    least: bool = False
    switches: Switches | None = None
    seconds: float = SECONDS

    @property
    def plans(self) -> bool:
        """Whether a plan to run nodes twice is asked for."""
        return self.least or self.budget is not None


@dataclass(frozen=True)
class MemoryReport(Printed):
    """What a model needs. `program` are its steps, `liveness` what lives when, `blocks` how tensors share bytes.

    `found` is the plan to run nodes twice, if one was asked for, and `symbol` the JSON text of an MXNet symbol with the
    plan's marks. All three above are then those of the plan.
    """

    program: Program
    liveness: Liveness
    blocks: Blocks
    wanted: MemoryQuestion
    found: Found | None = None
    symbol: str = ""

    def to_text(self, *, width: int | None = None) -> str:
        """Return peak, total and what lives at the peak, in `width` columns (None: as many as it takes)."""
        from graphir.report.memory import memory_text
        from graphir.structure.look import look, of_width

        with of_width(look().width if width is None else width):
            return memory_text(self, "training" if self.wanted.training else "one run", verbose=width is None)

    def to_json(self) -> dict[str, Any]:
        """Return the memory as plain data."""
        from graphir.report.memory import memory_json

        return memory_json(self)

    @property
    def peak(self) -> int:
        """The most bytes of results and gradients that live at one time."""
        return self.liveness.peak

    @property
    def total(self) -> int:
        """The bytes of the blocks that a static plan allocates."""
        return self.blocks.total

    @property
    def at_peak(self) -> list[Alive]:
        """The tensors that live at the peak, the largest first."""
        return alive_at(self.program, self.liveness, self.liveness.peak_step)


def memory(
    model: Graph | str | os.PathLike[str],
    *,
    params: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    format: str | None = None,
    training: bool = False,
    mxnet: bool = False,
    budget: int | None = None,
    least: bool = False,
    switches: Switches | None = None,
    seconds: float = SECONDS,
) -> MemoryReport:
    """Return the memory of a graph or of a model's file; sizes must be known, by `shapes` where the model leaves them
    open.

    Without more, one run in the order of the graph's nodes. With `training` forward and backward as MXNet 1.9.1's
    executor runs them: an MXNet model as its file has it, any other as the MXNet model that it becomes. `mxnet` counts
    4 bytes an element, as MXNet does, and plans an MXNet model's run from its file too. `budget` (bytes) asks for the
    plan that trains within it with the least work done twice, `least` for that with the least memory, in `seconds`.

    Raises ShapeError for sizes that are not known, UnsupportedOpError for operators that MXNet does not have or whose
    gradients are not known, NoPlan where no plan fits.
    """
    wanted = MemoryQuestion(training or least or budget is not None, mxnet, budget, least, switches, seconds)
    if isinstance(model, Graph):
        return _graph_memory(model, shapes, dtypes, wanted)
    from graphir.converters.formats import Manner
    from graphir.converters.opening import read_model
    from graphir.converters.options import ModelOptions

    options = ModelOptions(params=params, shapes=shapes, dtypes=dtypes, format=format)
    return memory_of(read_model(model, options, Manner(simplified=False)), options, wanted)


def memory_of(model: Source, options: ModelOptions, wanted: MemoryQuestion) -> MemoryReport:
    """Return the memory of a model that was opened."""
    planner = model.planner(options.dtypes) if wanted.training or wanted.mxnet else None
    if planner is not None:
        return _plan_memory(planner, wanted)
    return _graph_memory(model.graph, None, None, wanted)


def _graph_memory(
    graph: Graph, shapes: Mapping[str, Any] | None, dtypes: Mapping[str, Any] | None, wanted: MemoryQuestion
) -> MemoryReport:
    from graphir.analysis.memory.inference import inference_program

    if shapes or dtypes:
        from graphir.inference.stated import with_types

        graph = with_types(graph, shapes or {}, dtypes or {})
    program = inference_program(graph)
    if not wanted.training:
        return _make_report(program, wanted)
    from graphir.converters.mxnet import to_records
    from graphir.converters.mxnet.memory.plan import Planned

    symbol, _ = to_records(graph)
    known = {value.name: tuple(value.shape or ()) for value in graph.inputs}
    types = {value.name: value.dtype for value in graph.inputs if value.dtype is not None}
    return _plan_memory(Planned(symbol, known, types), wanted)


def _plan_memory(planned: Planned, wanted: MemoryQuestion) -> MemoryReport:
    from graphir.converters.mxnet.files.nnvm_json import to_json
    from graphir.converters.mxnet.memory.plan import ELEMENT, Switches
    from graphir.converters.mxnet.memory.recompute import Search, with_marks

    given = wanted.switches or Switches()
    sharing = replace(given.sharing, element_bytes=ELEMENT if wanted.mxnet else None)
    switches = replace(given, training=wanted.training, sharing=sharing)
    if not wanted.plans:
        return _make_report(planned.program(switches), wanted, sharing)
    result = Search(planned, switches).find(wanted.budget, wanted.seconds)
    program = planned.program(switches, result.best.marks)
    text = to_json(with_marks(planned.graph, dict.fromkeys(result.best.marks, True)))
    return _make_report(program, wanted, sharing, result, text)


def _make_report(
    program: Program,
    wanted: MemoryQuestion,
    sharing: Sharing | None = None,
    result: Found | None = None,
    symbol: str = "",
) -> MemoryReport:
    if sharing is not None and sharing.element_bytes:
        for tensor in program.tensors:
            tensor.bits = 8 * sharing.element_bytes
    return MemoryReport(program, find_liveness(program), plan_blocks(program, sharing), wanted, result, symbol)
