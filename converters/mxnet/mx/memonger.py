"""`memonger`: MXNet's planner of training memory, with the functions of mxnet-memonger; nothing is bound or allocated.

Costs are the MB that `debug_str()` of MXNet 1.9.1's executor prints for them. Where MXNet reads environment variables
(MXNET_BACKWARD_DO_MIRROR, MXNET_EXEC_INPLACE_GRAD_SUM_CAP, MXNET_ELIMINATE_COMMON_EXPR, NNVM_EXEC_MATCH_RANGE,
NNVM_AUTO_SEARCH_MATCH_RANGE, NNVM_EXEC_NUM_TEMP), so do these functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphir.converters.mxnet.files.nnvm_json import read_symbol, to_json
from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.converters.mxnet.memory.plan import Planned, Switches, from_environment
from graphir.converters.mxnet.memory.recompute import with_marks
from graphir.converters.mxnet.memory.thresholds import Marks, Walk, search
from graphir.converters.mxnet.mx.symbol import Symbol, load_json


def make_mirror_plan(sym: object, threshold: int, plan_info: dict[str, int] | None = None, **kwargs: Any) -> Symbol:
    """Return a symbol with `force_mirroring` set on its nodes for a threshold in MB; the shapes of inputs are keywords.

    Stages, the nodes whose attribute `mirror_stage` is set, are kept where more than the threshold has gathered since
    the last kept one. `plan_info` receives `max_size` and `save_size` in bytes. Raises ShapeError if sizes are missing.
    """
    planned = _planned(sym, None, kwargs)
    marks = Walk(planned.graph, planned.types).marks(threshold)
    if plan_info is not None:
        plan_info |= {"max_size": marks.largest, "save_size": marks.saved}
    return _marked(planned.graph, marks)


def get_cost(sym: object, type_dict: Mapping[str, object] | None = None, **kwargs: Any) -> int:
    """Return the MB that the executor of a symbol takes for training. Raises ShapeError if sizes are missing."""
    return _planned(sym, type_dict, kwargs).blocks(from_environment()).total >> 20


def search_plan(
    sym: object, ntrial: int = 6, type_dict: Mapping[str, object] | None = None, **kwargs: Any
) -> Symbol:
    """Return the symbol with the best plan that memonger's search finds, which it prints; the symbol given stays as it
    is."""
    planned = _planned(sym, type_dict, kwargs)
    switches = from_environment()

    def cost(marks: Marks) -> int:
        forced = [number for number, is_forced in marks.forced.items() if is_forced]
        return planned.blocks(switches, forced).total >> 20

    tried = search(Walk(planned.graph, planned.types), cost, ntrial)
    for trial in tried:
        print(f"Search threshold={trial.threshold} MB, cost={trial.cost} MB")
    best = min(tried, key=lambda trial: trial.cost)
    print(f"Find best plan with threshold={best.threshold}, cost={best.cost} MB")
    return _marked(planned.graph, best.marks)


def _planned(sym: object, types: Mapping[str, object] | None, shapes: Mapping[str, Any]) -> Planned:
    return Planned(read_symbol(sym), shapes, types)


def _marked(graph: NNVMGraph, marks: Marks) -> Symbol:
    return load_json(to_json(with_marks(graph, marks.forced)))


__all__ = ["Switches", "get_cost", "make_mirror_plan", "search_plan"]
