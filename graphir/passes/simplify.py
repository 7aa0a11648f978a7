"""Simplification: what computes nothing goes, what is known becomes a constant. Exact: no number changes.

One walk in order applies the rewrite of each node's operator; walks are repeated until nothing changes, a few times at
most. Each walk is linear in nodes.
"""

from __future__ import annotations

from collections.abc import Callable

from graphir.graph import Graph, Node, Value
from graphir.ops import activation
from graphir.ops import elementwise as ew
from graphir.ops.shape import Flatten, Reshape, Squeeze, Transpose, Unsqueeze
from graphir.ops.traits import Elementwise
from graphir.tensor import Tensor
from graphir.types import DType, Unknown

from .dead_code import remove_dead_code
from .outcome import Outcome
from .rewrite import Accepted, PossibleRules, Rule, Rules, bypass, rewritten

MAX_WALKS = 8
SHARED_LIMIT = 1 << 16
KNOWN = "its elements are known"


def simplify(graph: Graph, *, further: Rules | None = None) -> Outcome:
    """Fold known integers and rearranged parameters, cancel transposes, drop operators that change nothing.

    `further` are rules for nodes that the pass's own leave as they are (see `no_ops`). Names of outputs stay.
    """
    outcome = remove_dead_code(graph)
    rules = {**RULES, **{kind: (*RULES.get(kind, ()), *more) for kind, more in (further or {}).items()}}
    possible = PossibleRules(graph, rules)
    for _ in range(MAX_WALKS):
        count = len(outcome.changes)
        for node in list(graph.nodes):
            if node.graph is not graph:
                continue
            why = KNOWN if _fold_known(graph, node) else rewritten(graph, node, possible.rules)
            if why:
                possible.look_again()
                outcome.note(node.name, why)
        if len(outcome.changes) == count:
            break
        outcome |= remove_dead_code(graph)
    return outcome


def _fold_known(graph: Graph, node: Node) -> Accepted:
    """Return a small integer result whose elements inference knows becomes a constant."""
    if len(node.outputs) != 1:
        return False
    result = node.outputs[0]
    known = result.known
    if known is None or result.dtype is None or graph.is_output(result) or not result.uses:
        return False
    elements = known.integers()
    if elements is None:
        return False
    import numpy as np

    array = np.array(elements, dtype=result.dtype.numpy()).reshape(known.shape)
    graph.replace_uses(result, graph.constant(array, name=f"{node.name}_value"))
    graph.erase(node)
    return True


def _drop_identity(graph: Graph, node: Node) -> Accepted:
    value = node.inputs[0]
    return value is not None and bypass(graph, node, value)


def _drop_cast(graph: Graph, node: Node) -> Accepted:
    value = node.inputs[0]
    op = node.op
    assert isinstance(op, ew.Cast)
    if value is None or value.dtype is not op.to:
        return False
    return bypass(graph, node, value)


def _drop_factor_one(graph: Graph, node: Node) -> Accepted:
    """x * 1 and x / 1 are x to the last bit, where the 1 widens no shape: a swish as TensorFlow writes it has such a
    factor, as Keras describes it has none."""
    for slot in (1, 0) if isinstance(node.op, ew.Mul) else (1,):
        factor, value = node.inputs[slot], node.inputs[1 - slot]
        tensor = None if factor is None or factor.producer is not None else factor.tensor
        if value is None or tensor is None or tensor.size != 1 or value.shape is None:
            continue
        keeps_shape = value.shape == node.output.shape and not any(isinstance(dim, Unknown) for dim in value.shape)
        if keeps_shape and tensor.numpy().item() == 1:
            return bypass(graph, node, value)
    return False


def _rearranged_parameter(node: Node, rearrange: Callable[[Tensor], Tensor | None]) -> Tensor | None:
    """Return the tensor that a rearranging node gives, if its operand is a parameter with elements."""
    value = node.inputs[0]
    if value is None or value.producer is not None or value.tensor is None or value.tensor.dtype is DType.STRING:
        return None
    return rearrange(value.tensor)


def _replace_by_parameter(graph: Graph, node: Node, tensor: Tensor) -> Accepted:
    """Return a new parameter in place of the node's result, and of those of nodes that do the same.

    It takes the name of the parameter it comes from if that one has no other user. If it has, a large one stays as it
    is: its bytes would be stored twice.
    """
    source, result = node.inputs[0], node.outputs[0]
    assert source is not None
    if graph.is_output(result):
        return False
    twins = [user for user in source.users() if user.graph is graph and user.op == node.op]
    twins = [twin for twin in twins if twin.inputs == node.inputs and not graph.is_output(twin.outputs[0])]
    alone = len(source.uses) == len(twins) and not graph.is_output(source)
    if not alone and tensor.nbytes > SHARED_LIMIT:
        return False
    name = source.name
    parameter = graph.add_parameter(graph.fresh_name(f"{name}_{node.op.name.lower()}"), tensor)
    parameter.sources = source.sources
    for twin in twins:
        graph.replace_uses(twin.outputs[0], parameter)
        graph.erase(twin)
    if alone and source.graph is graph:
        graph.erase_value(source)
        graph.rename(parameter, name)
    return True


def _simplify_transpose(graph: Graph, node: Node) -> Accepted:
    op, value = node.op, node.inputs[0]
    assert isinstance(op, Transpose)
    assert value is not None
    if not op.perm and value.rank is None:
        return False
    perm = op.perm or tuple(reversed(range(value.rank or 0)))
    if perm == tuple(range(len(perm))):
        return bypass(graph, node, value)
    tensor = _rearranged_parameter(node, lambda original: original.transposed(perm))
    if tensor is not None:
        return _replace_by_parameter(graph, node, tensor)
    before = value.producer
    if before is None:
        return False
    if isinstance(before.op, Transpose) and before.inputs[0] is not None:
        inner = before.op.perm or tuple(reversed(range(len(perm))))
        merged = tuple(inner[axis] for axis in perm)
        source = before.inputs[0]
        if merged == tuple(range(len(perm))):
            return bypass(graph, node, source)
        result = graph.add_node(Transpose(merged), (source,), name=node.name, before=node).outputs[0]
        return bypass(graph, node, result)
    return False


def _sink_transpose(graph: Graph, node: Node) -> Accepted:
    """`f(transpose(x))` becomes `transpose(f(x))` for elementwise f, so that transposes meet and cancel.

    A second operand is transposed too, or a scalar, or one whose transpose back exists already: `f(transpose(x), y)`
    becomes `transpose(f(x, back(y)))`.
    """
    result = node.outputs[0]
    perms = {perm for perm in map(_only_use_of, node.inputs) if perm}
    if len(perms) != 1 or len(node.outputs) != 1 or graph.is_output(result) or not _leads_to_transpose(result):
        return False
    (perm,) = perms
    back = tuple(perm.index(axis) for axis in range(len(perm)))
    sources: list[Value] = []
    others: list[Node] = []
    for value in node.inputs:
        if value is None:
            return False
        if _only_use_of(value):
            assert value.producer is not None
            assert value.producer.inputs[0] is not None
            sources.append(value.producer.inputs[0])
            continue
        transpose = None if value.shape == () else _transpose_of(graph, value, back)
        if value.shape != () and transpose is None:
            return False
        others += [] if transpose is None else [transpose]
        sources.append(value if transpose is None else transpose.outputs[0])
    hoisted = {other.outputs[0]: _hoist(graph, other) for other in dict.fromkeys(others)}
    sources = [hoisted.get(source, source) for source in sources]
    moved = graph.add_node(node.op, sources, name=node.name, before=node).outputs[0]
    transposed = graph.add_node(Transpose(perm), (moved,), name=f"{node.name}_transpose", before=node).outputs[0]
    return bypass(graph, node, transposed)


def _only_use_of(value: Value | None) -> tuple[int, ...]:
    """Return the order of axes if the value is the result of a Transpose that has no other use; else nothing."""
    if value is None or value.producer is None or len(value.uses) != 1:
        return ()
    op = value.producer.op
    return op.perm if isinstance(op, Transpose) else ()


def _transpose_of(graph: Graph, value: Value, perm: tuple[int, ...]) -> Node | None:
    """Return a node of this graph that gives the value with its axes in that order, and whose result may be moved; none
    of a parameter, whose transposes are folded."""
    if value.graph is not graph or value.tensor is not None:
        return None
    for user, _ in value.uses:
        op = user.op
        if isinstance(op, Transpose) and op.perm == perm and user.graph is graph and not graph.is_output(user.output):
            return user
    return None


def _hoist(graph: Graph, node: Node) -> Value:
    """Return the node's result from a new node that stands right behind the operand, and so before all that may use
    it."""
    (operand,) = node.inputs
    assert operand is not None
    before = graph.nodes[0] if operand.producer is None else operand.producer.following
    result = graph.add_node(node.op, (operand,), name=node.name, before=before).outputs[0]
    graph.replace_uses(node.outputs[0], result)
    graph.erase(node)
    return result


def _leads_to_transpose(value: Value) -> bool:
    """Return whether a transpose that moves behind the value comes to another one over elementwise users."""
    seen = 0
    frontier = [value]
    while frontier and seen < 64:
        seen += 1
        for user in frontier.pop().users():
            if isinstance(user.op, Transpose):
                return True
            if type(user.op) in SINKS:
                frontier.extend(user.outputs)
    return False


def _drop_flatten(graph: Graph, node: Node) -> Accepted:
    op, value = node.op, node.inputs[0]
    assert isinstance(op, Flatten)
    if value is None or value.rank != 2 or op.axis not in (1, -1):
        return False
    return bypass(graph, node, value)


def _simplify_reshape(graph: Graph, node: Node) -> Accepted:
    op, value = node.op, node.inputs[0]
    assert value is not None
    result = node.outputs[0]
    shape = result.shape
    if shape is not None and shape == value.shape and not any(isinstance(dim, Unknown) for dim in shape):
        return bypass(graph, node, value)
    if shape is not None and all(isinstance(dim, int) for dim in shape):
        sizes = tuple(dim for dim in shape if isinstance(dim, int))
        tensor = _rearranged_parameter(node, lambda original: original.reshaped(sizes))
        if tensor is not None:
            return _replace_by_parameter(graph, node, tensor)
    before = value.producer
    if isinstance(op, Reshape) and before is not None and isinstance(before.op, Reshape | Flatten):
        wanted = node.inputs[1].known if node.inputs[1] is not None else None
        if wanted is not None and 0 not in wanted.elements and not op.allowzero:
            graph.replace_input(node, 0, before.inputs[0])
            return True
    return False


SINKS = frozenset(
    cls for cls in (*activation.OPERATORS, *ew.OPERATORS) if cls.elementwise is not Elementwise.NO
)
SINK = Rule(
    "the Transpose in front of it moves behind it, to meet another", _sink_transpose, (frozenset({Transpose}),)
)
FACTOR_ONE = Rule("it multiplies or divides by one", _drop_factor_one, (frozenset({float}),))
RESHAPE = Rule("the shape is there already, or it joins a reshaping in front of it, or a parameter", _simplify_reshape)
RULES: Rules = {
    **dict.fromkeys(SINKS, (SINK,)),
    **dict.fromkeys((ew.Mul, ew.Div), (FACTOR_ONE, SINK)),
    ew.Identity: (Rule("it changes nothing", _drop_identity),),
    ew.Cast: (Rule("the dtype is there already", _drop_cast), SINK),
    Transpose: (Rule("it joins the Transpose in front of it or a parameter, or keeps the order", _simplify_transpose),),
    Flatten: (Rule("the two axes are there already", _drop_flatten), RESHAPE),
    **dict.fromkeys((Reshape, Squeeze, Unsqueeze), (RESHAPE,)),
}
