"""Functions of the library as bodies: imported into a graph of their own inside a node, or in the node's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphir.converters.kernel.refusals import QuietRefusal
from graphir.converters.tensorflow.files.records import Endpoint, FunctionCall, TFNode
from graphir.converters.tensorflow.importing.context import ImportNode
from graphir.converters.tensorflow.importing.dilated import fuse_dilated
from graphir.converters.tensorflow.importing.frames import lower_frames
from graphir.converters.tensorflow.importing.inline import flat_body
from graphir.converters.tensorflow.importing.order import sorted_nodes
from graphir.converters.tensorflow.importing.scope import Scope
from graphir.converters.tensorflow.importing.tensor_arrays import lower_tensor_arrays
from graphir.errors import ImportFailure
from graphir.graph import Graph, Value
from graphir.ops.elementwise import Identity
from graphir.passes.dead_code import remove_dead_code
from graphir.safety.limits import charge_nodes, check_depth
from graphir.tensor import Tensor

_SAME = frozenset({"Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape"})


@dataclass
class FunctionBody:
    """A function without calls: nodes by name, what each argument is called inside, and its results."""

    name: str
    arguments: list[Endpoint]
    nodes: dict[str, TFNode]
    results: list[Endpoint]
    _users: dict[Endpoint, list[TFNode]] | None = field(default=None, repr=False)

    def source(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint whose value this is, behind nodes that change nothing."""
        while endpoint.node in self.nodes and self.nodes[endpoint.node].op in _SAME:
            endpoint = self.nodes[endpoint.node].inputs[0]
        return endpoint

    def node(self, endpoint: Endpoint) -> TFNode | None:
        """Return the node that gives the endpoint's value, None for an argument."""
        return self.nodes.get(self.source(endpoint).node)

    def constant(self, endpoint: Endpoint) -> Tensor | None:
        """Return the elements of an endpoint that is a constant in the body."""
        node = self.node(endpoint)
        value = node.attrs.get("value") if node is not None and node.op == "Const" else None
        return value if isinstance(value, Tensor) else None

    def users(self, endpoint: Endpoint) -> list[TFNode]:
        """Return the nodes that use the value, also behind nodes that change nothing; those are left out."""
        if self._users is None:
            self._users = {}
            for node in self.nodes.values():
                if node.op not in _SAME:
                    for source in dict.fromkeys(map(self.source, node.inputs)):
                        self._users.setdefault(source, []).append(node)
        return self._users.get(endpoint, [])


def body_of(node: ImportNode, attribute: str | FunctionCall, suffix: str = "") -> FunctionBody:
    """Return the function that an attribute names. Refuses one that is not in the library."""
    call = node.attrs[attribute] if isinstance(attribute, str) else attribute
    functions = node.functions
    if not isinstance(call, FunctionCall) or call.name not in functions:
        node.refuse(f"its function {call.name if isinstance(call, FunctionCall) else call!r} is not in the library")
    prefix = f"{node.name}/{suffix}"
    function = functions[call.name]
    arguments = [Endpoint(f"{prefix}{name}") for name in function.arguments]
    try:
        nodes, results = flat_body(
            function, call.attrs, prefix, dict(zip(function.arguments, arguments, strict=True)), functions
        )
        by_name = fuse_dilated({inner.name: inner for inner in lower_tensor_arrays(nodes)})
        inner_nodes, now = lower_frames(by_name, results, functions)
    except ImportFailure as error:
        node.refuse(str(error))
    return FunctionBody(call.name, arguments, inner_nodes, [now(result) for result in results])


def import_nodes(
    node: ImportNode,
    graph: Graph,
    body: FunctionBody,
    values: Mapping[Endpoint, Value],
    wanted: Sequence[Endpoint],
) -> list[Value]:
    """Import what the wanted endpoints of a body need into a graph, and give their values.

    `values` are those of the arguments. Raises QuietRefusal if a node of the body cannot be imported.
    """
    depth = node.depth + 1
    check_depth(depth, f"the function {body.name} in {node.name}")
    # Inference goes through a body several times, and as often through each body in it.
    charge_nodes(len(body.nodes) << min(depth, 62), f"the function {body.name}, {depth} deep")
    importer = node.importer
    failures = importer.failures
    try:
        order = sorted_nodes(body.nodes, [endpoint for endpoint in wanted if endpoint not in values], given=values)
    except ImportFailure as error:
        node.refuse(f"in its function {body.name}: {error}")
    scope = Scope(importer, graph, values, depth)
    scope.run(order, wanted)
    if importer.failures > failures:
        raise QuietRefusal(f"its function {body.name} cannot be imported")
    return [scope.value(endpoint) for endpoint in wanted]


def close(node: ImportNode, graph: Graph, values: Sequence[Value]) -> None:
    """Make these values the outputs of a body; copies stand for those that are not its own results, or come twice."""
    outputs: list[Value] = []
    for value in values:
        if value in node.importer.reserved:
            node.refuse(f"{value.name} is a list whose elements' shape is not known where its body ends")
        is_result = value.graph is graph and value.producer is not None and value not in outputs
        if not is_result:
            name = node.fresh_name(f"{node.name}__copy")
            value = graph.add(Identity(), value, name=name, output=name)
        outputs.append(value)
    graph.set_outputs(outputs)
    remove_dead_code(graph)
    for value in graph.values:
        value.sources = ()
