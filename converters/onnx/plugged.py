"""ONNX models with operators of plugins that onnxruntime has no kernel for: what lies between them runs there.

The nodes are taken in their order. Those between two operators of plugins are a model of their own, which onnxruntime
runs; the operators themselves are computed by their plugins, in numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from graphir.arrays import Array
from graphir.converters.kernel.plugged import as_results, referred
from graphir.converters.onnx.files.records import DEFAULT_DOMAINS
from graphir.errors import VerificationError
from graphir.ops.base import Operator
from graphir.plugins import OwnOperator, own_operator, source_operator
from graphir.types import DType

Start = Callable[[bytes], Any]


class Item(NamedTuple):
    """An input or output as onnxruntime describes it."""

    name: str
    type: str
    shape: tuple[int | str | None, ...]


class Own(NamedTuple):
    """A node that a plugin computes, and what tells it in reports."""

    name: str
    compute: Callable[[Sequence[Array | None]], tuple[Array, ...]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class PluggedPart(NamedTuple):
    """Nodes that onnxruntime runs, what they take and what others want of them."""

    nodes: list[Any]
    inputs: list[str]
    outputs: list[str]


def plugged_model(source: str | bytes) -> Any | None:
    """Return the model, if operators of plugins that say what they compute are among its nodes; else None."""
    import onnx

    model = onnx.load_model_from_string(source) if isinstance(source, bytes) else onnx.load(source)
    return model if any(_find_own(node) is not None for node in model.graph.node) else None


def _find_own(node: Any) -> Own | None:
    """Return how a plugin computes a node: as the class that it has for it, or as an operator that it reads."""
    if not node.domain or node.domain in DEFAULT_DOMAINS:
        return None
    names = tuple(node.input), tuple(node.output)
    operator = own_operator(node.op_type, node.domain)
    if operator is not None and operator.compute is not None:
        op = operator.cls(**{name: _field(value) for name, value in _stated_attributes(node).items()})
        return Own(f"{op.domain}.{op.name}", partial(computed, op, operator), *names)
    read = source_operator("onnx", f"{node.domain}:{node.op_type}")
    if read is None or read.reference is None:
        return None
    attributes = read.fitted({name: _field(value) for name, value in _stated_attributes(node).items()})
    return Own(f"{node.domain}.{node.op_type}", partial(referred, read, attributes), *names)


def _stated_attributes(node: Any) -> dict[str, Any]:
    import onnx

    return {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}


class PluggedSession:
    """What `OnnxSession` asks of onnxruntime's session, of a model in parts. `start` makes the session of a part."""

    def __init__(self, model: Any, start: Start) -> None:
        self._model = model
        self._start = start
        self._initializers = {tensor.name: tensor for tensor in model.graph.initializer}
        self._steps = self._split()
        self._sessions: dict[tuple[int, tuple[str, ...]], Any] = {}
        self.computed = sorted({step.name for step in self._steps if isinstance(step, Own)})

    def get_providers(self) -> list[str]:
        """Return the CPU."""
        return ["CPUExecutionProvider"]

    def get_provider_graph_assignment_info(self) -> list[Any]:
        """Nothing is known before a run."""
        return []

    def get_inputs(self) -> list[Item]:
        """Return the model's inputs that no initializer gives."""
        return [_item(value) for value in self._model.graph.input if value.name not in self._initializers]

    def get_outputs(self) -> list[Item]:
        """Return the model's outputs."""
        return [_item(value) for value in self._model.graph.output]

    def run(self, names: Sequence[str], feeds: Mapping[str, Array]) -> list[Array]:
        """Return the named outputs. Raises PluginError for what a plugin computes of another number."""
        import onnx

        values = dict(feeds)
        for index, step in enumerate(self._steps):
            if isinstance(step, Own):
                for name in step.inputs:
                    if name and name not in values:
                        values[name] = onnx.numpy_helper.to_array(self._initializers[name])
                operands = [values[name] if name else None for name in step.inputs]
                values.update(zip(step.outputs, step.compute(operands), strict=False))
            else:
                results = self._session(index, step, values).run(
                    step.outputs, {name: values[name] for name in step.inputs}
                )
                values.update(zip(step.outputs, results, strict=True))
        for name in names:
            if name not in values and name in self._initializers:
                values[name] = onnx.numpy_helper.to_array(self._initializers[name])
        return [values[name] for name in names]

    def run_with_ort_values(self, names: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
        """Not of models in parts."""
        raise VerificationError("a model with operators of plugins runs with dtypes that numpy has only")

    def _split(self) -> list[Own | PluggedPart]:
        steps: list[Own | PluggedPart] = []
        for node in self._model.graph.node:
            operator = _find_own(node)
            if operator is not None:
                steps.append(operator)
                continue
            if not steps or isinstance(steps[-1], Own):
                steps.append(PluggedPart([], [], []))
            steps[-1].nodes.append(node)  # type: ignore[union-attr]
        self._join(steps)
        return steps

    def _join(self, steps: list[Own | PluggedPart]) -> None:
        """Say what each part takes and gives: what later steps, or the outputs, read."""
        wanted = {value.name for value in self._model.graph.output}
        for step in reversed(steps):
            if isinstance(step, Own):
                wanted |= set(step.inputs)
                continue
            outputs = {name for node in step.nodes for name in node.output if name}
            read = {name for node in step.nodes for name in _reads(node)}
            step.outputs.extend(sorted(outputs & wanted))
            step.inputs.extend(sorted(name for name in read - outputs if name and name not in self._initializers))
            wanted |= read

    def _session(self, index: int, part: PluggedPart, values: Mapping[str, Array]) -> Any:
        """Return the session of a part for operands of these dtypes and numbers of axes."""
        import onnx

        kinds = tuple(f"{values[name].dtype}{values[name].ndim}" for name in part.inputs)
        if (index, kinds) not in self._sessions:
            inputs = [_value_info_of(name, values[name]) for name in part.inputs]
            outputs = [onnx.ValueInfoProto(name=name) for name in part.outputs]
            read = {name for node in part.nodes for name in _reads(node)}
            initializers = [tensor for name, tensor in self._initializers.items() if name in read]
            graph = onnx.helper.make_graph(part.nodes, f"part{index}", inputs, outputs, initializers)
            model = onnx.helper.make_model(
                graph, opset_imports=self._model.opset_import, ir_version=self._model.ir_version,
                functions=self._model.functions,
            )  # fmt: skip
            self._sessions[index, kinds] = self._start(model.SerializeToString())
        return self._sessions[index, kinds]


def computed(op: Operator, plugin: OwnOperator, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """Return what a plugin computes. Raises PluginError for results that are not as many arrays as the operator has."""
    assert plugin.compute is not None
    return as_results(plugin.compute(op, *operands), op.output_count, f"{plugin.plugin}: {op.name}")


def _reads(node: Any) -> set[str]:
    """Return the values that a node reads, those of graphs inside it included."""
    names = set(node.input)
    for attribute in node.attribute:
        for inner in (*((attribute.g,) if attribute.HasField("g") else ()), *attribute.graphs):
            inner_names = {value.name for value in inner.input} | {tensor.name for tensor in inner.initializer}
            inner_names |= {name for child in inner.node for name in child.output}
            names |= {name for child in inner.node for name in _reads(child)} - inner_names
            names |= {value.name for value in inner.output} - inner_names
    return names


def _field(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return tuple(map(_field, value)) if isinstance(value, list) else value


def _value_info_of(name: str, array: Array) -> Any:
    import onnx

    dtype = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, dtype, [None] * array.ndim)


def _item(value: Any) -> Item:
    import onnx

    tensor = value.type.tensor_type
    dtype = DType.of(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)) if tensor.elem_type else None
    shape = tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim
    )
    text = {"float32": "float", "float64": "double"}.get(str(dtype), str(dtype))
    return Item(value.name, "" if dtype is None else f"tensor({text})", shape)
