"""Keras's models, Sequential and Functional, nested or not: from their configurations to nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphir.converters.kernel.refusals import NODE_ERRORS, Refusal, Refusals
from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.context import Imported, ImportNode
from graphir.converters.tensorflow.keras import training as training_layers
from graphir.converters.tensorflow.keras.calls import (
    CallResult,
    arguments_of,
    count_from_zero,
    execution_order,
    listed,
    mapped,
    output_names,
    references_in,
    result_of,
)
from graphir.converters.tensorflow.keras.config import (
    Settings,
    check_layer,
    check_tree,
    compute_dtype,
    is_dtype,
    policy_name,
)
from graphir.converters.tensorflow.keras.context import InnerCall, KerasValue, LayerCall, flat, values_in
from graphir.converters.tensorflow.keras.history import modern, old_weights
from graphir.converters.tensorflow.keras.layers import LAYERS, PASS_MASKS, RANDOM, REFUSED, same
from graphir.converters.tensorflow.keras.operations import OPERATIONS
from graphir.converters.tensorflow.keras.signatures import Reads, bind_arguments, refuse_unread
from graphir.converters.tensorflow.keras.weights import LayerWeights, StoredByName
from graphir.decisions import DecisionKind
from graphir.errors import FormatError, ImportFailure
from graphir.safety.limits import charge_nodes, check_depth, hold_nodes
from graphir.structure.names import Names, free_name
from graphir.types import UNKNOWN, DType

FUNCTIONAL = ("Functional", "Model")
MODELS = ("Sequential", *FUNCTIONAL)
CASTING = ("float16", "float64")  # policies under which layers convert what they are given
Entry = Mapping[str, Any]


class _EntryCall(NamedTuple):
    """A call of a layer, an operation or a model, by its name in the whole."""

    entry: Entry
    stored: LayerWeights
    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class Reader:
    """One model on its way to nodes. Raises UnsupportedOpError with all layers that cannot be read."""

    def __init__(self, path: Path, version: int, backend: str = "tensorflow", *, training: bool = False) -> None:
        self.layers = {**LAYERS, **training_layers.LAYERS} if training else LAYERS
        self.path = path
        self.backend = backend
        self.version = version
        self.nodes: list[TFNode] = []
        self.results: dict[str, Endpoint] = {}  # of each call of a layer, its first result
        self._refusals = Refusals()
        self._names = Names()
        self._casts = False
        self._depth = 0
        self._owners: dict[str, str] = {}  # of what a call's names begin with, the path of its layer, without calls
        self._shared: dict[tuple[object, ...], Any] = {}
        self._masks: dict[Endpoint, Endpoint | None] = {}  # of values of which a call changed them

    def run(self, entry: Entry, stored: LayerWeights) -> tuple[dict[str, Endpoint], dict[str, Endpoint]]:
        """Return the endpoints of the inputs and outputs by name, in the model's order."""
        hold_nodes(check_tree(entry, self.path, "its configuration"))
        config = _layers_of(entry)
        if entry.get("class_name") not in MODELS or config is None:
            raise ImportFailure(
                f"{self.path}: a {entry.get('class_name')} model; only Sequential and Functional ones say in their "
                "file what they compute: export the model (model.export) and give the SavedModel folder"
            )
        self._casts = any(name in json.dumps(entry["config"]) for name in CASTING)
        inputs: dict[str, Endpoint] = {}
        if entry["class_name"] == "Sequential":
            results = self._read_sequential(config, stored, "", None, inputs)
            names = [_name(config["layers"][-1], self.path)] if len(results) == 1 else []
        else:
            results = self._read_functional(config, stored, "", None, inputs)
            self._order_inputs(listed(config.get("input_layers")), inputs)
            names = output_names(config.get("output_layers"))
        self._refusals.raise_gaps(
            "layer(s) of the model cannot be read (model.export writes a SavedModel, which may say it):"
        )
        if not results:
            raise ImportFailure(f"{self.path}: the model has no outputs")
        outputs: dict[str, Endpoint] = {}
        for index, result in enumerate(results):
            name = names[index] if index < len(names) else f"output_{index}"
            outputs[free_name(name, outputs, {})] = result.value
        return inputs, outputs

    def _order_inputs(self, stated: Sequence[CallResult], inputs: dict[str, Endpoint]) -> None:
        """Put the inputs, and their nodes, into the model's order, which may not be that of its layers."""
        names = [reference.layer for reference in stated if reference.layer in inputs]
        order = {name: position for position, name in enumerate(dict.fromkeys([*names, *inputs]))}
        by_name = {name: inputs.pop(name) for name in sorted(inputs, key=order.__getitem__)}
        inputs.update(by_name)
        positions = {endpoint.node: order[name] for name, endpoint in by_name.items()}
        self.nodes.sort(key=lambda node: positions.get(node.name, len(positions)))

    def _read_sequential(
        self,
        config: Entry,
        stored: LayerWeights,
        prefix: str,
        operands: Sequence[KerasValue] | None,
        inputs: dict[str, Endpoint],
    ) -> list[KerasValue]:
        entries = list(config["layers"])
        if not entries:
            raise FormatError("a Sequential model without layers", path=self.path)
        if operands is None and entries[0]["class_name"] != "InputLayer":
            settings = entries[0]["config"]
            stated = settings.get("batch_input_shape") if isinstance(settings, Mapping) else None
            shape = stated or config.get("build_input_shape")
            if shape is None:
                raise ImportFailure(f"{self.path}: the model was never built: its file states no input shape")
            dtype = "int32" if entries[0]["class_name"] == "Embedding" else "float32"
            source = {"name": "input", "batch_shape": shape, "dtype": dtype}
            entries.insert(0, {"class_name": "InputLayer", "config": source})
        weights = stored.layers([(_name(entry, self.path), entry["class_name"]) for entry in entries])
        values = list(operands or ())
        for entry, part in zip(entries, weights, strict=True):
            name = prefix + _name(entry, self.path)
            if entry["class_name"] == "InputLayer":
                if operands is None:
                    values = [self._add_input(entry, name)]
                    inputs[name] = values[0].value
                continue
            argument = values[0] if len(values) == 1 else values
            self._owners[f"{name}/"] = f"{self._owners.get(prefix, prefix)}{_name(entry, self.path)}/"
            values = self._call_entry(entry, part, name, [argument], {})
        return values

    def _read_functional(
        self, config: Entry, stored: LayerWeights, prefix: str, operands: Sequence[KerasValue | None] | None,
        inputs: dict[str, Endpoint],
    ) -> list[KerasValue]:  # fmt: skip
        entries = {_name(entry, self.path): entry for entry in config["layers"]}
        classes = {name: entry["class_name"] for name, entry in entries.items() if not _is_operation(entry)}
        weights = dict(zip(classes, stored.layers(list(classes.items())), strict=True))
        sources = [reference.layer for reference in listed(config.get("input_layers"))]
        results: dict[tuple[str, int], list[KerasValue]] = {}
        calls: list[tuple[str, int, list[Any], dict[str, Any]]] = []
        for name, entry in entries.items():
            if entry["class_name"] == "InputLayer":
                if operands is None:
                    value = self._add_input(entry, prefix + name)
                    inputs[name] = value.value
                else:
                    value = self._operand(name, prefix, sources, operands)
                results[name, 0] = [value]
                continue
            for number, call in enumerate(entry.get("inbound_nodes") or [[]]):
                args, kwargs = arguments_of(call, entries)
                calls.append((name, number, args, kwargs))
        nested = [name for name, entry in entries.items() if entry["class_name"] in FUNCTIONAL]
        ends = listed(config.get("output_layers"))
        calls, outputs = count_from_zero(calls, ends, nested if self.version >= 3 else None)
        calls = execution_order(calls, outputs)
        while calls:
            left = []
            for name, number, args, kwargs in calls:
                wanted = list(references_in([args, kwargs]))
                if not all((reference.layer, reference.call) in results for reference in wanted):
                    left.append((name, number, args, kwargs))
                    continue
                title = prefix + (name if number == 0 else f"{name}_call_{number}")
                given = self._fill_references(args, results), self._fill_references(kwargs, results)
                self._owners[f"{title}/"] = f"{self._owners.get(prefix, prefix)}{name}/"
                values = self._call_entry(entries[name], weights.get(name, stored), title, *given)
                results[name, number] = values
            if len(left) == len(calls):
                shown = ", ".join(name for name, *_ in left[:5])
                raise FormatError(f"its layers {shown} wait for each other", path=self.path)
            calls = left
        return [result_of(reference, results) for reference in outputs]

    def _fill_references(self, structure: Any, results: Mapping[tuple[str, int], list[KerasValue]]) -> Any:
        """Return the structure with what calls gave, with the masks that it has after the calls since."""

        def fill(reference: CallResult) -> KerasValue:
            value = result_of(reference, results)
            return KerasValue(value.value, self._masks.get(value.value, value.mask), reference.dtype, reference.shape)

        return mapped(structure, fill)

    def _operand(
        self, name: str, prefix: str, sources: Sequence[str], operands: Sequence[KerasValue | None]
    ) -> KerasValue:
        """Return what a nested model is called on for an input."""
        index = sources.index(name) if name in sources else len(operands)
        operand = operands[index] if index < len(operands) else None
        if operand is None:
            raise FormatError(f"the nested model {prefix} is called without its input {name}", path=self.path)
        return operand

    def _add_input(self, entry: Entry, name: str) -> KerasValue:
        check_layer(entry, name, self.path)
        config = entry["config"]
        sizes = config.get("batch_shape") or config.get("batch_input_shape")
        shape = None if sizes is None else tuple(UNKNOWN if size is None else size for size in sizes)
        stated = policy_name(config) or "float32"
        if not is_dtype(stated):
            raise FormatError(f"input {name}: the dtype {stated[:40]!r} is unknown", path=self.path)
        dtype = DType.of(stated)
        self.nodes.append(TFNode(name, "Placeholder", (), (), {"dtype": dtype, "shape": shape}))
        return KerasValue(Endpoint(name))

    def _call_entry(
        self, entry: Entry, stored: LayerWeights, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[KerasValue]:
        """Return the results of a call of a layer, an operation or a model."""
        class_name = entry["class_name"]
        is_model = class_name in MODELS and _layers_of(entry) is not None
        try:
            if not is_model and not _is_operation(entry):
                check_layer(entry, name, self.path)
            entry = modern(entry)
        except NODE_ERRORS as error:
            return self._refuse_layer(_EntryCall(entry, stored, name, args, kwargs), error)
        class_name = entry["class_name"]
        owner = self._owners.setdefault(f"{name}/", f"{name}/")
        is_model = class_name in MODELS and _layers_of(entry) is not None
        name = name if is_model else self._names.fresh(name)
        call = _EntryCall(entry, stored, name, args, kwargs)
        try:
            if is_model:
                return self._keep_result(name, self._call_model(call))
            charge_nodes(1, f"layer {name}")
            if _is_operation(entry):
                return self._keep_result(name, self._call_operation(call))
            return self._keep_result(name, self._call_layer(call, owner))
        except NODE_ERRORS as error:
            return self._refuse_layer(call, error)

    def _refuse_layer(self, call: _EntryCall, error: Exception) -> list[KerasValue]:
        """Record what is wrong with a layer, and give values in place of its results."""
        entry, _, name, args, kwargs = call
        config = entry.get("config")
        stated = config if isinstance(config, Mapping) else {}
        if not self._refusals.take(entry["class_name"], error, name, stated):
            self._refusals.refuse(entry["class_name"], str(error), name)
        operands = list(values_in([args, kwargs]))
        return [operands[0] if operands else KerasValue(Endpoint(name))] * 8

    def _keep_result(self, name: str, results: list[KerasValue]) -> list[KerasValue]:
        """Return the results of a call, and keep the first, which is what the call's name means."""
        if results:
            self.results.setdefault(name, results[0].value)
        return results

    def _call_model(self, call: _EntryCall) -> list[KerasValue]:
        entry, stored, name, args, kwargs = call
        config = _layers_of(entry)
        assert config is not None
        check_depth(self._depth + 1, f"the model {name}")
        self._depth += 1
        first, others = bind_arguments(entry["class_name"], args, kwargs)
        argument, masks = first[0] if first else None, list(flat(others.pop("mask", None)))
        refuse_unread(Reads(others))
        layers = config.get("input_layers")
        if isinstance(argument, Mapping) and not isinstance(layers, Mapping) and entry["class_name"] != "Sequential":
            argument = [argument.get(reference.layer) for reference in listed(layers)]
        operands = list(flat(argument))
        for slot, mask in enumerate(masks[: len(operands)]):
            value = operands[slot]
            if mask is not None and value is not None:
                operands[slot] = KerasValue(value.value, mask.value)
                self._masks[value.value] = mask.value
        if entry["class_name"] == "Sequential":
            given = [value for value in operands if value is not None]
            results = self._read_sequential(config, stored, f"{name}/", given, {})
        else:
            results = self._read_functional(config, stored, f"{name}/", operands, {})
        self._depth -= 1
        return results

    def _call_layer(self, call: _EntryCall, owner: str) -> list[KerasValue]:
        entry, stored, name, args, kwargs = call
        class_name, config = entry["class_name"], entry["config"]
        if not any(values_in([args, kwargs])):
            raise FormatError(f"layer {name} is called without a value", path=self.path)
        if self.backend == "theano" and "Conv" in class_name:
            raise Refusal("the file was written with Theano, whose convolutions turn their kernels round")
        if self.version == 1:
            stored = StoredByName([("", tensor) for tensor in old_weights(class_name, config, stored.tensors())], name)
        function = self.layers.get(class_name)
        if function is None:
            raise Refusal(REFUSED.get(class_name, "graphir does not know this layer"))
        is_training = kwargs.get("training") is True and class_name in RANDOM
        if is_training and self.version < 3:
            raise Refusal("it is called with training=True, so that it does at inference what training does")
        odd = [key for key in ("lora_rank", "quantization_config", "quantization_mode") if config.get(key)]
        if odd:
            raise Refusal(f"{odd[0]}: its kernel is not stored as one; merge or dequantize it before saving")
        first, others = bind_arguments(class_name, args, kwargs)
        layer = LayerCall(
            name, Settings(config, name), stored, first, Reads(others), self.version, class_name,
            dtype=compute_dtype(config), owner=owner, shared=self._shared,
        )  # fmt: skip
        layer.call = self._caller_inside(layer)
        if self._casts:
            layer.args = mapped(first, layer.autocast)
            layer.kwargs = Reads(mapped(others, layer.autocast))
        result = function(layer)
        results = [result] if isinstance(result, Endpoint) else list(result)
        if is_training:
            results[0] = layer.apply(_import_training_call, "inference", results[:1])
        if layer.mask is None and class_name in PASS_MASKS:
            layer.mask = layer.stated_mask()
        self.nodes += layer.nodes
        if layer.takes_masks:
            self._masks |= dict.fromkeys(operand.value for operand in values_in([first, others]))
        refuse_unread(layer.kwargs, layer.config, "" if self.version == 1 or function is same else class_name)
        masks = [layer.mask] * layer.masked + [None] * len(results)
        return [KerasValue(value, mask) for value, mask in zip(results, masks, strict=False)]

    def _caller_inside(self, outer: LayerCall) -> InnerCall:
        """Return the function that calls a layer which this one has inside."""

        def call(entry: Entry, suffix: str, part: LayerWeights, values: Sequence[KerasValue]) -> list[KerasValue]:
            self.nodes += outer.nodes
            outer.nodes = []
            argument = values[0] if len(values) == 1 else list(values)
            self._owners[f"{outer.name}/{suffix}/"] = f"{outer.owner}{suffix}/"
            return self._call_entry(entry, part, f"{outer.name}/{suffix}", [argument], {})

        return call

    def _call_operation(self, call: _EntryCall) -> list[KerasValue]:
        """Call an operation on values: Keras 3's `ops`, or the functions of TensorFlow that version 2 recorded."""
        entry, stored, name, args, kwargs = call
        config = entry["config"]
        if not isinstance(config, Mapping):
            raise FormatError(f"the operation {name}: its config is {str(config)[:60]}", path=self.path)
        title = str(config.get("function") or entry["class_name"])
        function = OPERATIONS.get(title)
        if function is None:
            raise Refusal(f"graphir does not know the operation {title}")
        given = Reads({**config, **kwargs} if self.version >= 3 else kwargs)
        layer = LayerCall(name, Settings(config, name), stored, args, given, self.version, title)
        result = function(layer)
        self.nodes += layer.nodes
        refuse_unread(layer.kwargs)
        masks = {operand.value: operand.mask for operand in values_in([args, kwargs])}  # of what is handed on as it is
        return [KerasValue(value, masks.get(value)) for value in ([result] if isinstance(result, Endpoint) else result)]


def _import_training_call(node: ImportNode) -> Imported:
    """Import a layer that the model calls with training=True: version 3's `predict` says False, and that counts."""
    node.decide(
        DecisionKind.TRAINING,
        "the model calls it with training=True, which `predict` overrides: it acts as at inference",
    )
    return node.input(0)


def _layers_of(entry: Entry) -> Entry | None:
    """Return the configuration of a model, a list alone in old Sequential ones; None if it states no layers."""
    config = entry.get("config")
    if isinstance(config, list):
        return {"layers": config}
    return config if isinstance(config, Mapping) and "layers" in config else None


def _name(entry: Entry, path: Path) -> str:
    config = entry["config"]
    name = entry.get("name") or (config.get("name") if isinstance(config, Mapping) else None)
    if not isinstance(name, str):
        raise FormatError(f"a layer ({entry['class_name']}) without a name", path=path)
    return name


def _is_operation(entry: Entry) -> bool:
    """Return whether an entry is an operation on values. In HDF5 files only layers state whether they learn."""
    module = str(entry.get("module") or "")
    if ".ops." in module or entry["class_name"] in ("TFOpLambda", "SlicingOpLambda"):
        return True
    if module or entry["class_name"] not in OPERATIONS or not isinstance(entry["config"], Mapping):
        return False
    nodes: list[Any] = entry.get("inbound_nodes") or []
    of_version_3 = bool(nodes) and isinstance(nodes[0], Mapping) and "args" in nodes[0]
    return of_version_3 and "trainable" not in entry["config"]
