"""A symbol and its arrays, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.importer import PARAMETER_INPUTS
from graphir.converters.mxnet.mx.base import mxnet_errors
from graphir.converters.mxnet.mx.context import Context, provider
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.random import generator
from graphir.converters.mxnet.reference.evaluate import (
    ancestors,
    compute,
    has_open_size,
    open_sizes,
    reference_of,
)
from graphir.converters.mxnet.reference.evaluate import run as evaluate
from graphir.converters.mxnet.schema.operators import CUSTOM, node_signature, state_variables, typed_attributes
from graphir.converters.mxnet.source import MXNetSource
from graphir.graph import Graph
from graphir.ops.random import OPERATORS as RANDOM
from graphir.runtime.providers import import_onnxruntime

if TYPE_CHECKING:
    from graphir.converters.session import Session

Elements = NumpyArray[Any]
OFTEN = 2


def nodes_to_evaluate(records: NNVMGraph) -> set[int] | None:
    """Return the nodes that the reference evaluator computes for the heads, None if it does not know one of them."""
    needed = ancestors(records, records.heads)
    nodes = (records.nodes[index] for index in needed)
    return needed if all(node.op == VARIABLE or reference_of(node) is not None for node in nodes) else None


def only_node(records: NNVMGraph) -> NNVMNode | None:
    """Return the only operator of a symbol that computes with variables alone; None if it is not so simple."""
    operators = [node for node in records.nodes if node.op != VARIABLE]
    node = operators[0]
    if len(operators) > 1 or node.subgraphs or not node.inputs or has_open_size(node, records.np_shape):
        return None
    return node if all(records.nodes[index] is node for index, _ in records.heads) else None


def evaluate_heads(records: NNVMGraph, needed: set[int], arrays: Mapping[str, NDArray]) -> list[Elements]:
    """Return the heads by the reference evaluator, in arrays of their own. Raises MXNetError for what it refuses."""
    given = {name: array._elements() for name, array in arrays.items()}
    with mxnet_errors():
        size = next(open_sizes(records, needed, given), 0)
        values = evaluate(records, needed, records.heads, given, size)
    return owned([values[entry] for entry in records.heads], given.values())


def evaluate_node(records: NNVMGraph, node: NNVMNode, arrays: Sequence[NDArray]) -> list[Elements]:
    """Return the heads of a symbol of one node, which reads these arrays, as `evaluate_heads` does."""
    given = [array._elements() for array in arrays]
    with mxnet_errors():
        results = compute(records, node, given, 0)
    return owned([results[slot] for _, slot in records.heads], given)


def owned(results: list[Elements], given: Iterable[Elements]) -> list[Elements]:
    """Return the results, copied where they are elements of what was given."""
    return [np.array(result) if any(np.may_share_memory(result, elements) for elements in given) else result
            for result in results]  # fmt: skip


class BoundSymbol:
    """A symbol whose variables have arrays, ready to run on a device.

    Variables of one name, such as a layer that runs twice in loops has them, have one array.
    Weights are constants of the session, which lets onnxruntime lay them out for its kernels; all other variables are
    its inputs. A weight that was written is read again; one that is written between runs for the second time becomes an
    input, so that however often arrays are written the session is made anew at most twice for each of them. Without
    `constants` all variables are inputs. What operators draw is seeded by `mx.random.seed`.
    Networks of float64 are computed by the reference evaluator: onnxruntime computes many of their operators in
    float32. `draws` says, once a session is made, whether it draws random numbers.
    """

    def __init__(
        self, records: NNVMGraph, arrays: Mapping[str, NDArray], context: Context, *, constants: bool = True
    ) -> None:
        self.records = records
        self.context = context
        self.arrays = arrays
        self._constant = parameter_variables(records) & set(arrays) if constants else set()
        self._writes: dict[str, int] = {}
        self._built: dict[str, tuple[NDArray, int]] = {}
        self._types = _types(arrays)
        self._session: Session | None = None
        self._variables: dict[str, str] = {}
        self.draws = False
        is_wide = context.device_type != "gpu" and any(array.dtype is np.float64 for array in arrays.values())
        self._needed = nodes_to_evaluate(records) if is_wide else None

    def fits(self, arrays: Mapping[str, NDArray]) -> bool:
        """Return whether arrays have the shapes and dtypes that the session was made for."""
        return _types(arrays) == self._types

    def run_with(self, arrays: Mapping[str, NDArray]) -> list[Elements]:
        """Return the outputs with other arrays of the same shapes and dtypes."""
        self.arrays = arrays
        return self.run()

    def run(self) -> list[Elements]:
        """Return the outputs with the arrays as they are now. Raises MXNetError for what cannot be converted or run."""
        if self._needed is not None:
            return evaluate_heads(self.records, self._needed, self.arrays)
        with mxnet_errors():
            session = self._ready()
            feeds = {name: self.arrays[self._variables[name]].tensor.numpy() for name in session.inputs}
            results = session.run(feeds)
        return [results[name] for name in session.outputs]

    def _ready(self) -> Session:
        changed = [
            name
            for name, (array, version) in self._built.items()
            if self.arrays[name] is not array or array.version != version
        ]
        if self._session is None or changed:
            for name in changed:
                self._writes[name] = self._writes.get(name, 0) + 1
                if self._writes[name] >= OFTEN:
                    self._constant.discard(name)
            self._session = self._made()
        return self._session

    def _made(self) -> Session:
        from graphir.converters.session import QuietSession

        providers = provider(self.context)
        tensors = {name: array.tensor for name, array in self.arrays.items() if name in self._constant}
        inputs = {name: array for name, array in self.arrays.items() if name not in self._constant}
        graph = MXNetSource(self.records, tensors).to_graph(
            {name: array.shape for name, array in inputs.items()},
            dtypes={name: array.tensor.dtype for name, array in inputs.items()},
            keep_loss=True, strict=True,
        )
        self.draws = _draws(graph)
        if self.draws:
            import_onnxruntime().set_seed(int(generator().integers(1 << 31)))
        self._built = {name: (self.arrays[name], self.arrays[name].version) for name in self._constant}
        self._variables = {value.name: value.sources[0] for value in graph.inputs}
        return QuietSession(graph, providers=providers)


def _draws(graph: Graph) -> bool:
    """Return whether random numbers are drawn, in subgraphs too."""
    return any(isinstance(node.op, RANDOM) or any(map(_draws, node.subgraphs)) for node in graph.nodes)


def _types(arrays: Mapping[str, NDArray]) -> dict[str, tuple[object, ...]]:
    return {name: (array.shape, array.dtype, array.context) for name, array in arrays.items()}


def parameter_variables(records: NNVMGraph) -> set[str]:
    """Return the names of variables that operators read as weights or hold as states."""
    nodes = records.nodes
    names_found = {nodes[index].name for index in state_variables(records)}
    for node in nodes:
        if node.op != VARIABLE:
            names = node_signature(node).inputs
            names_found |= {
                nodes[producer].name
                for name, (producer, _) in zip(names, node.inputs, strict=False)
                if name in PARAMETER_INPUTS and nodes[producer].op == VARIABLE
            }
    return names_found


def trained_otherwise(records: NNVMGraph) -> list[str]:
    """Return the nodes that compute something else while they are trained, such as Dropout, as `name (operator)`."""
    return [f"{node.name} ({node.op})" for node in records.nodes if _is_trained_otherwise(node)]


def _is_trained_otherwise(node: NNVMNode) -> bool:
    attrs = typed_attributes(node)
    if node.op == "Dropout":
        return bool(attrs["p"]) and attrs["mode"] != "always"
    if node.op == "RNN":
        return bool(attrs["p"])
    if node.op == "LeakyReLU":
        return bool(attrs["act_type"] == "rrelu")
    if node.op in ("BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU"):
        return not attrs["use_global_stats"]
    return node.op in (CUSTOM, "_contrib_SyncBatchNorm")
