"""What a TensorFlow model is held against: live TensorFlow, or where there is none the graph that was imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from graphir.converters.formats import Judge
from graphir.converters.kernel.live import Live, LiveFailed
from graphir.converters.tensorflow.live.process import PYTHON_VARIABLE, LiveTensorFlow, TensorFlowMissing, live_python
from graphir.converters.tensorflow.opening import open_model
from graphir.decisions import DecisionKind
from graphir.errors import VerificationError
from graphir.graph import Graph
from graphir.structure.state import state_of

IMPORTED = "the imported graph was the reference, not TensorFlow"


def judges(
    path: str | os.PathLike[str],
    outputs: Sequence[str],
    signature: str | None,
    against: str,
    live: Live | None = None,
    graph: Graph | None = None,
) -> list[Judge]:
    """Return live TensorFlow for these outputs of a model, the imported graph, or both: as `against` states (`auto`,
    `live`, `reference`) and as available. Operators of plugins, which the `graph` names, are computed apart. `auto`
    passes over TensorFlow that gives no answer, and TensorFlow that cannot be imported unless its interpreter was
    named. Raises VerificationError for live TensorFlow where no interpreter has it."""
    if against == "reference":
        return [Judge(note=IMPORTED)]
    named = (None if live is None else live.python) or os.environ.get(PYTHON_VARIABLE)
    python = named or live_python()
    if against == "live" and python is None:
        raise VerificationError(
            "live TensorFlow was asked for, but this interpreter has none; name one that has it with --python or "
            f"{PYTHON_VARIABLE}"
        )
    if python is None:
        return [Judge(note=f"{IMPORTED}; --python or {PYTHON_VARIABLE} names an interpreter that has TensorFlow")]
    state = {} if graph is None else state_of(graph)
    running: Callable[..., LiveTensorFlow]
    running = partial(LiveTensorFlow, path, outputs, python, signature, live, state=state)
    if graph is not None and any(decision.kind is DecisionKind.PLUGIN for decision in graph.decisions):
        from graphir.converters.tensorflow.live.plugged import PluggedTensorFlow, live_obstacle

        reason = "the model keeps state" if state else live_obstacle(open_model(path, signature, outputs))
        if reason and against == "live":
            raise VerificationError(f"live TensorFlow was asked for, but {reason}")
        if reason:
            return [Judge(note=f"{IMPORTED}: {reason}")]
        running = partial(PluggedTensorFlow, path, graph, python, signature, live)
    if against == "live":
        return [Judge(partial(running, insists=True))]
    gives_way: dict[type[Exception], str] = {LiveFailed: "TensorFlow gave no answer: {error}"}
    if not named:
        gives_way[TensorFlowMissing] = "TensorFlow is there but not usable: {error}"
    return [Judge(running, gives_way), Judge(note=IMPORTED)]
