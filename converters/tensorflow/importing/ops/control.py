"""Conditionals and loops with functions as bodies. Those of TensorFlow 1 are brought to them before (`frames`)."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.tensorflow.files.records import FunctionCall
from graphir.converters.tensorflow.importing.bodies import FunctionBody, body_of, close, import_nodes
from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.loops import as_condition, import_while
from graphir.decisions import DecisionKind
from graphir.graph import Graph, Value
from graphir.ops.control import If
from graphir.ops.elementwise import Equal
from graphir.types import DType

TRAINING_FLAGS = frozenset(
    {"is_train", "is_training", "keras_learning_phase", "learning_phase", "phase_train", "train_phase", "training"}
)


def import_if(node: ImportNode) -> Sequence[Value]:
    """If and StatelessIf. A condition that is known chooses the branch now."""
    condition = node.input(0)
    known = node.known(0)
    if known is None and _is_training_flag(node, condition):
        known = (0,)
        node.importer.assumed.append(condition)
        node.decide(
            DecisionKind.TRAINING_FLAG,
            f"the input {condition.name} says whether the model is trained: it is taken to be false, as at inference; "
            "give it a shape to keep it as an input",
        )
    if known is not None and len(known) == 1:
        name = "then_branch" if known[0] else "else_branch"
        shown = condition.sources[0] if condition.sources else condition.name
        node.decide(DecisionKind.CONDITIONAL, f"its condition {shown} is {bool(known[0])}: only {name} is imported")
        return _run(node, node.graph, body_of(node, name))
    scalar = as_condition(node, node.graph, condition)
    return _branches(node, scalar, body_of(node, "then_branch", "then/"), body_of(node, "else_branch", "else/"))


def _is_training_flag(node: ImportNode, condition: Value) -> bool:
    """Return whether a condition is an input without axes that stands for training by its name; nothing is given for
    it."""
    is_input = condition.producer is None and node.importer.graph.is_input(condition)
    if not is_input or condition.dtype is not DType.BOOL or condition.rank not in (None, 0):
        return False
    return condition.name.rpartition("/")[2] in TRAINING_FLAGS and condition.name not in node.importer.shapes


def import_case(node: ImportNode) -> Sequence[Value]:
    """Case and StatelessCase: the branch at an index, the last one for an index that is none."""
    calls: Sequence[FunctionCall] = node.attrs["branches"]
    known = node.known(0)
    if known is not None and len(known) == 1:
        number = known[0] if 0 <= known[0] < len(calls) else len(calls) - 1
        node.decide(DecisionKind.CONDITIONAL, f"its index is {known[0]}: only branch {number} is imported")
        return _run(node, node.graph, body_of(node, calls[number]))
    bodies = [body_of(node, call, f"branch{number}/") for number, call in enumerate(calls)]
    return _cases(node, node.graph, bodies, 0)


def _cases(node: ImportNode, graph: Graph, bodies: Sequence[FunctionBody], case: int) -> Sequence[Value]:
    """Return the results of the branch at the index, which is `case` or more; conditionals inside each other."""
    if case == len(bodies) - 1:
        return _run(node, graph, bodies[case])
    index = node.input(0)
    number = graph.constant(case, index.dtype or DType.INT32, name=node.fresh_name(f"{node.name}__place"))
    name = node.fresh_name(f"{node.name}__is_{case}")
    chosen = as_condition(node, graph, graph.add(Equal(), index, number, name=name, output=name))
    first, rest = (Graph(f"{node.name}_{kind}_{case}", parent=graph) for kind in ("branch", "behind"))
    close(node, first, _run(node, first, bodies[case]))
    close(node, rest, _cases(node, rest, bodies, case + 1))
    return _conditional(node, graph, chosen, [first, rest])


def _branches(node: ImportNode, condition: Value, *bodies: FunctionBody) -> Sequence[Value]:
    graphs = []
    for kind, body in zip(("then", "else"), bodies, strict=True):
        graph = Graph(f"{node.name}_{kind}", parent=node.graph)
        close(node, graph, _run(node, graph, body))
        graphs.append(graph)
    return _conditional(node, node.graph, condition, graphs)


def _conditional(node: ImportNode, graph: Graph, condition: Value, branches: Sequence[Graph]) -> Sequence[Value]:
    count = len(branches[0].outputs)
    if count != len(branches[1].outputs):
        node.refuse(f"its branches give {count} and {len(branches[1].outputs)} values")
    names = [node.fresh_name(f"{node.name}_{slot}") for slot in range(count)]
    return graph.add_node(If(count), [condition], name=node.name, output_names=names, subgraphs=branches).outputs



def _run(node: ImportNode, graph: Graph, body: FunctionBody) -> Sequence[Value]:
    operands = node.inputs[1:]
    if len(operands) != len(body.arguments):
        node.refuse(f"its function {body.name} takes {len(body.arguments)} values and is given {len(operands)}")
    return import_nodes(node, graph, body, dict(zip(body.arguments, operands, strict=True)), body.results)


IMPORTS: dict[str, ImportFunction] = {
    "Case": import_case,
    "If": import_if,
    "StatelessCase": import_case,
    "StatelessIf": import_if,
    "StatelessWhile": import_while,
    "While": import_while,
}
