"""What an export decides for the runtime's sake: casts, a higher opset, and what cannot be helped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from graphir.converters.kernel.refusals import Refusal
from graphir.converters.onnx.exporting.context import Casts, Export
from graphir.converters.onnx.exporting.runnable import RUNS, NodePlan, opening, plan_for
from graphir.converters.onnx.exporting.types import types_of
from graphir.converters.onnx.files.records import OnnxNode
from graphir.decisions import DecisionKind
from graphir.errors import Gap, UnsupportedOpError
from graphir.graph import Decision, Node
from graphir.runtime.kernels import releases


def casts_for(source: int | None, opset: int, runnable: bool) -> Casts:
    """Return what may be done about nodes without a kernel in a graph that came from ONNX at opset `source`, None if
    not."""
    if not runnable:
        return Casts.UNCHECKED
    if source is None:
        return Casts.ANY
    return Casts.NONE if source == opset else Casts.EXACT


def make_runnable(export: Export, nodes: Sequence[OnnxNode], types: Mapping[str, str], source: str) -> None:
    """Add the nodes that a node of the graph, named `source`, becomes, with casts where they need and may have them.

    Raises Refusal for what onnxruntime could not open.
    """
    for node in nodes:
        plan = plan_for(node, types, export.opset)
        if plan is RUNS:
            export.nodes.append(node)
        elif export.casts is Casts.ANY:
            for kind, text in _choices(export, node, plan, types):
                export.note(kind, text, source)
            if plan.wide:
                _cast_around(export, node, plan, types, source)
            else:
                export.nodes.append(node)
        elif export.casts is Casts.EXACT and plan.wide and not plan.rounding:
            _cast_around(export, node, plan, types, source)
        else:
            export.nodes.append(node)
            if not plan.only or plan.wide:
                export.note(DecisionKind.NO_KERNEL, _without_kernel(node, plan, types), source)


def _without_kernel(node: OnnxNode, plan: NodePlan, types: Mapping[str, str]) -> str:
    dtypes = ", ".join(dict.fromkeys(text for text in (types.get(name, "") for name in node.inputs) if text))
    what = plan.missing or f"onnxruntime has no kernel for {node.op_type} of {dtypes}"
    return f"{what}; it stays as the model has it"


def _choices(
    export: Export, node: OnnxNode, plan: NodePlan, types: Mapping[str, str]
) -> Iterator[tuple[DecisionKind, str]]:
    """Yield what a node's kernels cost. Raises Refusal where it has none."""
    if plan.missing:
        types_of([node], types, export.opset)  # raises the reason if ONNX itself has no such type
    if plan.missing and not plan.whole:
        raise Refusal(f"{plan.missing}, and none that a cast would lead to")
    if plan.missing:
        if not export.has_chosen_opset:
            raise Refusal(f"{plan.missing}; a stated opset (--opset) writes it for another runtime all the same")
        text = f"{plan.missing}: it opens the file at no opset that has this {node.op_type}"
        yield DecisionKind.NO_KERNEL, text
    if plan.only:
        text = f"{node.op_type} needs onnxruntime {plan.only} or newer: older ones have no kernel for it"
        yield DecisionKind.RUNTIME, text
    if plan.rounding:
        yield DecisionKind.DTYPE, f"{node.op_type}, for which onnxruntime has no kernel: {plan.rounding}"


def _cast_around(export: Export, node: OnnxNode, plan: NodePlan, types: Mapping[str, str], source: str) -> None:
    from graphir.converters.onnx.exporting.cast_around import cast_around

    cast_around(export, node, plan, types, source)


def note_start(export: Export, source: int | None, opset: int) -> None:
    """Note that a model of an opset below the lowest was raised."""
    if not export.has_chosen_opset and source is not None and source < opset:
        export.note(DecisionKind.OPSET, f"the model's opset {source} becomes {opset}, the lowest that is written", "-")


def note_releases(export: Export) -> None:
    """Note which onnxruntime opens the file, if not every one that graphir writes for does. A model's own opset is
    no choice of graphir."""
    able = opening(export.opset)
    if export.is_own or export.casts is Casts.UNCHECKED or len(able) == len(releases()):
        return
    if able:
        text = f"opset {export.opset} needs onnxruntime {able[0].number} or newer: older ones do not open the file"
        export.note(DecisionKind.RUNTIME, text, "-")
    else:
        export.note(DecisionKind.NO_KERNEL, f"no onnxruntime that is known here opens opset {export.opset}", "-")


def note_raised(export: Export, start: int, reasons: Mapping[Node, str]) -> None:
    """Note why the file has a higher opset than `start`: what each node cannot be expressed as there."""
    for node, reason in reasons.items():
        text = f"{node.op.name} takes opset {export.opset} instead of {start}: {reason}"
        export.note(DecisionKind.OPSET, text, node.name)


def decisions_of(export: Export) -> list[Decision]:
    """Return what was noted, one decision for all nodes of which the same was."""
    decisions = []
    for (kind, text), nodes in export.noted.items():
        more = len(dict.fromkeys(nodes)) - 1
        decisions.append(Decision(kind, nodes[0], f"{text} (and {more} more nodes)" if more else text))
    return decisions


def refusal(refused: Mapping[tuple[str, str], Sequence[Node]], where: str) -> UnsupportedOpError:
    """Return the error that lists all of these nodes."""
    gaps = [Gap(op, reason, tuple(node.name for node in nodes)) for (op, reason), nodes in refused.items()]
    count = sum(len(gap.nodes) for gap in gaps)
    return UnsupportedOpError(f"{count} node(s) cannot be written at {where}:", gaps)
