"""The passes that graphs go through, in which order: every named pipeline stands here.

A pipeline is made by a function, which imports its passes when it is called and is handed what they need from above:
names as a format has them, what evaluates constants. Each step takes a valid graph to a valid graph that computes the
same, with outputs of the same names and types, and says in its `Outcome` what it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from graphir.errors import GraphError, GraphirError
from graphir.graph import Graph
from graphir.safety.counted import counted
from graphir.structure.record import record

from .outcome import Outcome

if TYPE_CHECKING:
    from graphir.ops.base import Operator

    from .evaluator import Evaluator
    from .inline import GraphNames

MOST_ROUNDS = 64


@record
class Step:
    """One pass: `run` does it, and `then` follow where it changed anything."""

    name: str
    run: Callable[[Graph], Outcome]
    then: tuple[Step, ...] = ()


@record
class Pipeline:
    """Steps in order, all of them again, at most `rounds` times, while they change anything."""

    name: str
    steps: tuple[Step, ...]
    rounds: int = 1

    def run(self, graph: Graph, *, check: bool = False) -> Outcome:
        """Take the graph through all steps. Raises what they raise; the graph is valid then, too.

        With `check` each step is held to its contract: GraphError names one after which the graph is not valid, or has
        other inputs or outputs. That costs as much as inference does, for each step.
        """
        outcome = Outcome()
        for _ in range(self.rounds):
            changes = _run_steps(counted(self.steps, "pass"), graph, _run_checked if check else run_step)
            outcome |= changes
            if not changes:
                break
        return outcome

    @contextmanager
    def on_copy(self, graph: Graph) -> Iterator[Graph]:
        """The graph as the steps make it, for one who must not touch it: a copy where any of them changes it, else
        itself.

        What is decided about the copy is decided about the graph.
        """
        from .clone import on_copy

        copy, _ = on_copy(graph, self.run)
        yield copy
        graph.decisions[:] = copy.decisions


def step(run: Callable[..., Outcome], *then: Callable[..., Outcome], **options: Any) -> Step:
    """Return the step of a pass with these options; `then` are passes that follow where it changed anything."""
    return Step(run.__name__, partial(run, **options) if options else run, tuple([step(after) for after in then]))


def run_step(step: Step, graph: Graph) -> Outcome:
    """Take the graph through one step, without those that follow it. Tests put a check of its contract around this."""
    return step.run(graph)


def _run_checked(step: Step, graph: Graph) -> Outcome:
    before = _ends(graph)
    outcome = run_step(step, graph)
    try:
        if _ends(graph) != before:
            raise GraphError(f"its inputs and outputs were {before} and are {_ends(graph)}")
        graph.check()
    except GraphirError as error:
        raise GraphError(f"the pass {step.name} broke the graph {graph.name}: {error}") from error
    return outcome


def _ends(graph: Graph) -> tuple[list[str], list[str]]:
    return [value.name for value in graph.inputs], [value.name for value in graph.outputs]


def _run_steps(steps: Iterable[Step], graph: Graph, run: Callable[[Step, Graph], Outcome]) -> Outcome:
    outcome = Outcome()
    for step in steps:
        changes = run(step, graph)
        if changes:
            changes |= _run_steps(step.then, graph, run)
        outcome |= changes
    return outcome


def simplification() -> Pipeline:
    """Return the steps that drop what computes nothing and make constants of what is known. No number changes."""
    from .simplify import simplify

    return Pipeline("simplification", (step(simplify),))


def smallest(
    evaluator: Evaluator | None, operators: Collection[type[Operator]] = (), growth: int = 0
) -> Pipeline:
    """Return the steps to the smallest equal graph, subgraphs included.

    Further `operators` are recognised in what spells them out. Without `evaluator` constants that inference does not
    know are left. Computed tensors of more elements than a small constant has may take `growth` bytes in all.
    """
    from .branches import inline_branches
    from .common_subexpressions import merge_equal_nodes, share_parameters
    from .fold_constants import Budget, fold_constants
    from .fold_pad import fold_pads
    from .fold_scales import fold_scales
    from .fusions import MERGES, fusions
    from .fusions.rows import flatten_products
    from .known_sizes import SIZES, share_known_sizes
    from .no_ops import NEUTRAL, NO_OPS
    from .rewrite import apply_rules
    from .simplify import simplify

    steps = (
        step(simplify, further=NO_OPS),
        step(share_known_sizes),
        step(apply_rules, rules=SIZES),
        step(apply_rules, rules=NEUTRAL),
        step(fold_constants, evaluator=evaluator, budget=Budget(left=growth)),  # and before equal fills are one
        step(merge_equal_nodes),
        step(fold_pads),
        step(fold_scales),
        step(apply_rules, rules=fusions(operators)),
        step(apply_rules, rules=MERGES),
        step(flatten_products),
        step(share_parameters),  # behind what changes the weights of one node, and leaves shared ones alone
    )
    return Pipeline("smallest", (step(inline_branches), *map(_everywhere, steps)), MOST_ROUNDS)


def _everywhere(step: Step) -> Step:
    """Return the step that does the same to each subgraph, and then to the graph around them."""

    def run(graph: Graph) -> Outcome:
        outcome = Outcome()
        for node in graph.nodes:
            for inner in node.subgraphs:
                outcome |= run(inner)
        outcome |= step.run(graph)
        return outcome

    return Step(step.name, run, step.then)


def import_from_mxnet() -> Pipeline:
    """Return the steps behind the importer of MXNet."""
    return Pipeline("import from MXNet", simplification().steps)


def import_from_tensorflow(
    layer_name: Callable[[str], str], give_back_names: Callable[[Graph], Outcome], *, fold_weights: bool = True,
    training: bool = False,
) -> Pipeline:
    """Behind the importer of TensorFlow: loops become recurrent layers, channels move to the front, scales go into
    weights (with `fold_weights`; for `training` only what shifts).

    `layer_name` is what a layer is called by the name of its loop, `give_back_names` calls values as the file does.
    """
    from .common_subexpressions import merge_equal_nodes
    from .fold_arithmetic import fold_arithmetic
    from .fold_pad import fold_pads
    from .fold_scales import fold_scales
    from .recurrent.loops import recognize_recurrent_loops
    from .simplify import simplify
    from .transposes import move_transposes

    steps = [
        step(simplify),
        step(recognize_recurrent_loops, simplify, layer_name=layer_name),
        step(fold_arithmetic),
        step(move_transposes, simplify),
        step(give_back_names),
        step(fold_pads),
        *([step(fold_scales, shifts_only=training)] if fold_weights else []),
        step(merge_equal_nodes, simplify),
    ]
    return Pipeline("import from TensorFlow", tuple(steps))


def explicit_padding() -> Pipeline:
    """Behind an import from a format that states SAME, in `load` and `convert` alike: SAME becomes numbers wherever
    they follow from what is known."""
    from .explicit_padding import make_padding_explicit

    return Pipeline("explicit padding", (step(make_padding_explicit),))


def export() -> Pipeline:
    """Return the steps before every exporter: what no output depends on is left out.

    Run it by `on_copy`: the graph that a user holds stays as it is.
    """
    from .dead_code import keep_live_part

    return Pipeline("export", (step(keep_live_part),))


def for_onnx() -> Pipeline:
    """In front of the exporter of ONNX, for graphs of other formats: runtimes pool every region that they are given,
    and take no value inside a branch or loop that has the name of one outside."""
    from .inner_names import rename_shadowed
    from .needed_regions import pool_needed_regions

    return Pipeline("ONNX", (step(pool_needed_regions), step(rename_shadowed)))


def for_pytorch(evaluator: Evaluator, *, training: bool = False) -> Pipeline:
    """In front of the exporter of PyTorch: constants are computed, functions of torch that are spelled out recognised;
    loops and branches stay, Dropout with `training`."""
    from graphir.ops.activation import Gelu, HardSwish, Mish
    from graphir.ops.attention import Attention
    from graphir.ops.normalization import LayerNormalization, RMSNormalization

    from .fold_constants import fold_constants
    from .fusions import recognitions
    from .no_ops import KEPT_AXES, NEUTRAL, NO_OPS, NO_OPS_OF_TRAINING
    from .rewrite import apply_rules
    from .simplify import simplify

    further = {**(NO_OPS_OF_TRAINING if training else NO_OPS), **KEPT_AXES}
    known = recognitions((Gelu, HardSwish, Mish, Attention, LayerNormalization, RMSNormalization))
    steps = (
        step(simplify, further=further),
        step(apply_rules, rules=NEUTRAL),
        step(fold_constants, evaluator=evaluator),
        step(apply_rules, rules=known),
    )
    return Pipeline("PyTorch", steps, MOST_ROUNDS)


def lowering(names: GraphNames, evaluator: Evaluator | None) -> Pipeline:
    """In front of an exporter that lacks operators, control flow or sequences: constants are computed, branches and
    loops of known course taken apart, sequences resolved, until nothing changes.

    `names` are those of the graph. Without `evaluator` constants that inference does not know are left.
    """
    from .branches import inline_branches
    from .fold_constants import fold_constants
    from .no_ops import NO_OPS
    from .simplify import simplify
    from .static_sequences import resolve_structure
    from .unroll import unroll_loops

    steps = (
        step(simplify, further=NO_OPS),
        step(fold_constants, evaluator=evaluator),
        step(inline_branches, names=names),
        step(resolve_structure, names=names),
        step(unroll_loops, names=names, evaluator=evaluator),
    )
    return Pipeline("lowering", steps, MOST_ROUNDS)
