"""A symbol and its arrays, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.importer import PARAMETER_INPUTS
from graphir.converters.mxnet.importing.ops.random import IMPORTS as RANDOM
from graphir.converters.mxnet.mx.context import Context, provider
from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.random import generator
from graphir.converters.mxnet.mx.structure import post_order, state_variables
from graphir.converters.mxnet.schema.operators import node_signature, typed_attributes
from graphir.converters.mxnet.source import MXNetSource
from graphir.runtime.providers import import_onnxruntime

if TYPE_CHECKING:
    from graphir.converters.session import Session

Elements = NumpyArray[Any]
OFTEN = 2


class Network:
    """A symbol whose variables have arrays, ready to run on a device.

    Weights are constants of the session, which lets onnxruntime lay them out for its kernels; all other variables are
    its inputs. A weight that was written is read again; one that is written between runs for the second time becomes an
    input, so that however often arrays are written the session is made anew at most twice for each of them. Without
    `constants` all variables are inputs. What operators draw is seeded by `mx.random.seed`.
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

    def fits(self, arrays: Mapping[str, NDArray]) -> bool:
        """Whether arrays have the shapes and dtypes that the session was made for."""
        return _types(arrays) == self._types

    def run_with(self, arrays: Mapping[str, NDArray]) -> list[Elements]:
        """The outputs with other arrays of the same shapes and dtypes."""
        self.arrays = arrays
        return self.run()

    def run(self) -> list[Elements]:
        """The outputs with the arrays as they are now. Raises GraphirError for what cannot be converted or run."""
        session = self._ready()
        feeds = {name: self.arrays[name].tensor.numpy() for name in session.inputs}
        found = session.run(feeds)
        return [found[name] for name in session.outputs]

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
        from graphir.converters.session import Session

        providers = provider(self.context)
        tensors = {name: array.tensor for name, array in self.arrays.items() if name in self._constant}
        inputs = {name: array for name, array in self.arrays.items() if name not in self._constant}
        graph = MXNetSource(self.records, tensors).to_graph(
            {name: array.shape for name, array in inputs.items()},
            dtypes={name: array.tensor.dtype for name, array in inputs.items()},
            keep_loss=True,
        )
        if any(node.op in RANDOM for node in self.records.nodes):
            import_onnxruntime().set_seed(int(generator().integers(1 << 31)))
        self._built = {name: (self.arrays[name], self.arrays[name].version) for name in self._constant}
        return Session(graph, providers=providers)


def _types(arrays: Mapping[str, NDArray]) -> dict[str, tuple[object, ...]]:
    return {name: (array.shape, array.dtype, array.context) for name, array in arrays.items()}


def parameter_variables(records: NNVMGraph) -> set[str]:
    """The names of variables that operators read as weights or hold as states."""
    nodes = records.nodes
    found = {nodes[index].name for index in state_variables(nodes, post_order(nodes, records.heads))}
    for node in nodes:
        if node.op != VARIABLE:
            names = node_signature(node).inputs
            found |= {
                nodes[producer].name
                for name, (producer, _) in zip(names, node.inputs, strict=False)
                if name in PARAMETER_INPUTS and nodes[producer].op == VARIABLE
            }
    return found


def trained_otherwise(records: NNVMGraph) -> list[str]:
    """The nodes that compute something else while they are trained, such as Dropout, as `name (operator)`."""
    return [f"{node.name} ({node.op})" for node in records.nodes if _is_trained_otherwise(node)]


def _is_trained_otherwise(node: NNVMNode) -> bool:
    attrs = typed_attributes(node)
    if node.op == "Dropout":
        return bool(attrs["p"]) and attrs["mode"] != "always"
    if node.op == "RNN":
        return bool(attrs["p"])
    if node.op == "LeakyReLU":
        return attrs["act_type"] == "rrelu"
    if node.op in ("BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU"):
        return not attrs["use_global_stats"]
    return node.op == "_contrib_SyncBatchNorm"


__all__ = ["Network", "parameter_variables", "trained_otherwise"]
