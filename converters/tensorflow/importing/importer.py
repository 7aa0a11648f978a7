"""From TensorFlow's records to a graph: every foreign meaning ends here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager

from graphir.converters.kernel.importing import BaseImporter, TentativeRecords
from graphir.converters.kernel.plugged import refuse_known
from graphir.converters.kernel.refusals import Refusal
from graphir.converters.options import KEEP, REFUSE
from graphir.converters.tensorflow.files.reader import TFSource
from graphir.converters.tensorflow.files.records import Endpoint, TFFunction, TFNode
from graphir.converters.tensorflow.importing.cut import PLACEHOLDERS as PLACEHOLDERS
from graphir.converters.tensorflow.importing.cut import cut_at
from graphir.converters.tensorflow.importing.dilated import fuse_dilated
from graphir.converters.tensorflow.importing.fed import feed_iterators
from graphir.converters.tensorflow.importing.frames import lower_frames
from graphir.converters.tensorflow.importing.inline import Flat, flatten
from graphir.converters.tensorflow.importing.lists import Reserved
from graphir.converters.tensorflow.importing.ops import import_table
from graphir.converters.tensorflow.importing.ops.creation import size_letter, stated_shape
from graphir.converters.tensorflow.importing.order import find_outputs, sorted_nodes
from graphir.converters.tensorflow.importing.scope import VARIABLES, Scope
from graphir.converters.tensorflow.importing.state import WrittenVariable, thread_state
from graphir.converters.tensorflow.importing.tensor_arrays import lower_tensor_arrays
from graphir.converters.tensorflow.importing.unfused import unfuse
from graphir.converters.tensorflow.schema.operators import operator_schema
from graphir.decisions import DecisionKind
from graphir.errors import ImportFailure
from graphir.graph import Graph, Value
from graphir.inference.declared import contradiction, nearest
from graphir.inference.engine import parse_dims
from graphir.ops.elementwise import Identity
from graphir.passes.name_sizes import name_open_sizes
from graphir.safety.foreign_text import listing
from graphir.structure.names import similar_names
from graphir.structure.state import Carried, record_state
from graphir.types import DType

# Nodes that only watch or wait: that something runs after them changes no number.
HARMLESS = frozenset({"NoOp", "Assert", "Print", "PrintV2", "CheckNumerics", "Const", "Identity", "Placeholder"})


class Importer(BaseImporter):
    """One import. `run` gives the graph or raises with everything that is wrong, not the first thing only.

    `outputs` are names of nodes or endpoints (`logits`, `split:1`); without them the signature's, or the nodes that
    nothing uses. At `inputs`, likewise named, the graph is cut: they are inputs whatever computes them.
    """

    def __init__(
        self,
        source: TFSource,
        shapes: Mapping[str, object] | None = None,
        *,
        dtypes: Mapping[str, object] | None = None,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] | None = None,
        state: str = KEEP,
    ) -> None:
        super().__init__(Graph(source.name))
        self.source = source
        self.shapes = {_strip_slot(name): parse_dims(shape) for name, shape in (shapes or {}).items()}
        self.dtypes = {_strip_slot(name): DType.of(dtype) for name, dtype in (dtypes or {}).items()}
        self.graph.metadata["tensorflow.format"] = source.kind
        self.pairs: set[Value] = set()  # those that are complex in TensorFlow (see `pairs`)
        self.unfrozen: list[str] = []
        self.functions: dict[str, TFFunction] = dict(source.graph.functions)
        self.reserved: dict[Value, Reserved] = {}
        self.assumed: list[Value] = []
        self.carried: list[Carried] = []
        self.opened: dict[str, tuple[str, int]] = {}  # symbols of open sizes, with the input and the axis
        self._stated_inputs = inputs
        self._stated_outputs = outputs
        self._refuses_state = state == REFUSE

    @property
    def failures(self) -> int:
        """Return how many problems were recorded so far, variables without elements among them."""
        return super().failures + len(self.unfrozen)

    @contextmanager
    def trial(self) -> Iterator[TentativeRecords]:
        """Return a trial as the base does, for variables without elements too."""
        unfrozen = len(self.unfrozen)
        with super().trial() as outcome:
            yield outcome
        if not outcome.kept:
            del self.unfrozen[unfrozen:]

    def run(self) -> Graph:
        """Return the graph. Raises UnsupportedOpError with every gap, or ImportFailure with every other problem."""
        refuse_known("tensorflow", {*import_table(), *VARIABLES})
        cut = [Endpoint.of(_strip_slot(name)).node for name in self._stated_inputs]
        graph, written = thread_state(self.source.graph, list(self._find_outputs().values()), cut)
        self.functions |= graph.functions
        flat = flatten(graph)
        flat.nodes = unfuse(flat.nodes)
        if self.source.results:
            names = {node.name for node in flat.nodes}
            layers = {name: endpoint for name, endpoint in self.source.results.items() if name not in names}
            flat.aliases |= {Endpoint(name): endpoint for name, endpoint in layers.items()}
        fed = feed_iterators(flat)
        if fed:
            self.graph.decide(DecisionKind.INPUTS_FED, "-", f"what an iterator gives is fed as inputs: {listing(fed)}")
        for name in map(_strip_slot, self._stated_inputs):
            self.graph.decide(DecisionKind.INPUTS_CHOSEN, name, cut_at(flat, name, self.dtypes))
        nodes = fuse_dilated({node.name: node for node in lower_tensor_arrays(flat.nodes)})
        outputs = self._resolve_outputs(flat, nodes)
        last = [flat.resolve(item.last) for item in written]
        nodes, now = lower_frames(nodes, [*outputs.values(), *last], self.functions)
        outputs = {name: now(endpoint) for name, endpoint in outputs.items()}
        last = list(map(now, last))
        order = sorted_nodes(nodes, [*outputs.values(), *last])
        self._check_given(nodes)
        listed = self._order_placeholders(flat, nodes)
        self._place_inputs(order, nodes, listed, {item.variable.name for item in written})
        scope = Scope(self, self.graph)
        scope.run(order, [*outputs.values(), *last])
        self._raise_problems()
        self._carry(written, last, scope)
        self._set_outputs(outputs, scope)
        self._order_inputs(listed)
        for value in dict.fromkeys(self.assumed):
            if not value.is_needed:
                self.graph.erase_value(value)
        self._name_sizes()
        self._describe(flat, order, nodes)
        return self.graph

    def _name_sizes(self) -> None:
        """Give the open sizes of inputs their names. A Keras model has one batch."""
        inputs = {value.name: value for value in self.graph.inputs}
        opened = {name: (inputs[source], axis) for name, (source, axis) in self.opened.items() if source in inputs}
        one_batch = self.source.kind.startswith("Keras")
        name_open_sizes(self.graph, opened, size_letter, one_batch=one_batch)

    def shape_hint(self) -> str:
        """Return the hint for a missing size."""
        inputs = [value for value in self.graph.inputs if value not in self.broken]
        if not inputs:
            return ""
        shape = inputs[0].shape
        if shape is None:
            return f"; give its shape, as in -i {inputs[0].name}:SIZES, sizes with commas between"
        size = 224 if len(shape) == 4 else 32
        sizes = [dim if isinstance(dim, int) else size if axis else 1 for axis, dim in enumerate(shape)]
        return f"; give its shape, as in -i {inputs[0].name}:{','.join(map(str, sizes))}"

    def _find_outputs(self) -> dict[str, Endpoint]:
        """Return the endpoints of the outputs as the file has them, by the names that the graph shall have for them."""
        signature = self.source.signature
        if self._stated_outputs is not None:
            known = {} if signature is None else signature.outputs
            return {_strip_slot(name): known.get(name) or Endpoint.of(name) for name in self._stated_outputs}
        if signature is not None:
            return dict(signature.outputs)
        return {name: Endpoint(name) for name in find_outputs(self.source.graph.nodes)}

    def _resolve_outputs(self, flat: Flat, nodes: Mapping[str, TFNode]) -> dict[str, Endpoint]:
        """Return the endpoints of the outputs, by the names that the graph shall have for them."""
        stated = self._find_outputs()
        if not stated:
            for call in flat.aliases:
                flat.resolve(call)  # where every result is used, something goes in a circle
            sorted_nodes(nodes, map(Endpoint, nodes))
            ops = sorted({node.op for node in nodes.values()})
            raise ImportFailure(f"{self.source.name}: nothing in it computes an output; its nodes are {listing(ops)}")
        outputs = {name: flat.resolve(endpoint) for name, endpoint in stated.items()}
        missing = [name for name, endpoint in outputs.items() if endpoint.node not in nodes]
        if missing:
            hint = similar_names(str(outputs[missing[0]].node), [*self.source.results, *nodes])
            raise ImportFailure(f"no node gives the output {', '.join(missing)}{hint}")
        return outputs

    def _check_given(self, nodes: Mapping[str, TFNode]) -> None:
        """Raise ImportFailure for what is given for other names than inputs', and for shapes that contradict theirs."""
        inputs = {name: node for name, node in nodes.items() if node.op in PLACEHOLDERS}
        problems = []
        for name in dict.fromkeys([*self.shapes, *self.dtypes]):
            if name in inputs:
                declared = stated_shape(inputs[name], self.source.graph.producer)
                problems.append(contradiction(name, self.shapes.get(name), declared))
                continue
            hint = "" if Endpoint.of(name).node not in nodes else f" (inputs=[{name!r}] or --inputs makes it one)"
            known = [input_name for input_name, node in inputs.items() if not node.inputs]
            problems.append(f"a shape or dtype was given for {name!r}, which is no input{hint}; {nearest(name, known)}")
        problems = [text for text in problems if text]
        if problems:
            raise ImportFailure("\n  ".join(problems))

    def _order_placeholders(self, flat: Flat, nodes: Mapping[str, TFNode]) -> list[str]:
        """Return the placeholders in the order that the graph's inputs shall have.

        That is the caller's, else the signature's (a Keras model's), else the file's.
        """
        stated = [flat.resolve(Endpoint.of(_strip_slot(name))).node for name in self._stated_inputs]
        signature = self.source.signature
        signed = [] if signature is None else [flat.resolve(endpoint).node for endpoint in signature.inputs.values()]
        placeholders = [name for name, node in nodes.items() if node.op in PLACEHOLDERS]
        known = set(placeholders)
        return [name for name in dict.fromkeys([*stated, *signed, *placeholders]) if name in known]

    def _place_inputs(
        self, order: list[TFNode], nodes: Mapping[str, TFNode], listed: Sequence[str], state: Set[str]
    ) -> None:
        """Bring the placeholders to the front, with those that nothing uses but that are stated or are `state`."""
        used = {node.name for node in order}
        staying = used | self._find_unused_inputs(nodes) | state
        front = [name for name in listed if name in staying and not nodes[name].inputs]
        moved = set(front)
        order[:] = [*(nodes[name] for name in front), *(node for node in order if node.name not in moved)]

    def _find_unused_inputs(self, nodes: Mapping[str, TFNode]) -> set[str]:
        """Return the inputs that stay even if nothing uses them: of a signature whose outputs are taken, if their types
        are known."""
        signature = self.source.signature
        if signature is None or self._stated_outputs is not None or self._stated_inputs:
            return set()
        names = {endpoint.node for endpoint in signature.inputs.values()}
        return {
            name
            for name in names
            if name in nodes
            and nodes[name].op in PLACEHOLDERS
            and isinstance(nodes[name].attrs.get("dtype"), DType)
            and (name in self.shapes or nodes[name].attrs.get("shape") is not None)
        }

    def _order_inputs(self, listed: Sequence[str]) -> None:
        """Put the inputs into the order of their placeholders."""
        by_source = {source: value for value in self.graph.inputs for source in value.sources}
        ordered = dict.fromkeys(by_source[f"{name}:0"] for name in listed if f"{name}:0" in by_source)
        self.graph.order_inputs([*ordered, *(value for value in self.graph.inputs if value not in ordered)])

    def _carry(self, written: Sequence[WrittenVariable], last: Sequence[Endpoint], scope: Scope) -> None:
        """Take the variables that are written for state. Raises ImportFailure for any state if it is to be refused."""
        inputs = {source: value for value in self.graph.inputs for source in value.sources}
        for item, endpoint in zip(written, last, strict=True):
            name = item.variable.name
            before, initial = inputs[f"{name}:0"], self.source.variables.get(name, item.variable.frozen)
            self.carried.append(Carried(name, before, scope.value(endpoint), initial, f"{item.writer} writes it"))
        if self.carried and self._refuses_state:
            shown = "\n  ".join(f"{item.holder}: {item.reason}" for item in self.carried)
            raise ImportFailure(f"the model keeps state from run to run, and state is to be refused:\n  {shown}")

    def _set_outputs(self, outputs: Mapping[str, Endpoint], scope: Scope) -> None:
        chosen: list[Value] = []
        for name, endpoint in outputs.items():
            try:
                value = scope.value(endpoint)
            except Refusal as error:
                raise ImportFailure(f"output {name}: {error}") from error
            if value in self.pairs:
                raise ImportFailure(f"output {name} is complex64, which no target takes: name Real and Imag of it")
            chosen.append(self._as_output(value, name, chosen))
        for state in self.carried:
            value = self._as_output(state.after, self.fresh_name(f"{state.before.name}_next"), chosen)
            chosen.append(value)
        self.graph.set_outputs(chosen)
        record_state(self.graph, self.carried)

    def _as_output(self, value: Value, name: str, chosen: list[Value]) -> Value:
        """Return the value under its output's name; a copy where it has to keep its own."""
        if value.name == name and value not in chosen and value.producer is not None:
            return value
        if value.producer is None or value in chosen or name in self.graph:
            copy = self.graph.add(Identity(), value, name=name, output=self.graph.fresh_name(name))
            copy.sources = value.sources
            return copy
        self.graph.rename(value, name)
        return value

    def _raise_problems(self) -> None:
        if self.unfrozen:
            shown = "\n  ".join(self.unfrozen)
            raise ImportFailure(
                f"{len(self.unfrozen)} variable(s) are not frozen: the graph names them, but their elements are not in "
                f"it. Give the SavedModel folder, or freeze the graph (TensorFlow 2: "
                f"convert_variables_to_constants_v2; TensorFlow 1: freeze_graph):\n  {shown}"
            )
        self.raise_problems()

    def _describe(self, flat: Flat, order: list[TFNode], nodes: Mapping[str, TFNode]) -> None:
        """Record decisions about the whole graph."""
        if flat.inlined:
            calls = "1 call" if len(flat.inlined) == 1 else f"{len(flat.inlined)} calls"
            self.graph.decide(DecisionKind.FUNCTIONS_INLINED, "-", f"{calls}: {listing(flat.inlined)}")
        waited = [name for node in order for name in node.controls if name in nodes]
        effects = [name for name in dict.fromkeys(waited) if nodes[name].op not in HARMLESS]
        effects = [name for name in effects if _has_effects(nodes[name])]
        if effects:
            text = f"{len(effects)} node(s) that others wait for are not run: {listing(effects)}"
            self.graph.decide(DecisionKind.CONTROL_DEPENDENCIES_DROPPED, "-", text)
        used = {node.name for node in order}
        left = [node.name for node in nodes.values() if node.op in PLACEHOLDERS and node.name not in used]
        if left:
            self.graph.decide(DecisionKind.UNUSED_INPUTS_REMOVED, "-", f"no output depends on {listing(left)}")


def _has_effects(node: TFNode) -> bool:
    """Return whether a node does something besides giving results, as assignments do."""
    schema = operator_schema(node.op)
    return schema is None or not schema.outputs or node.op.startswith("Assign")


def _strip_slot(name: str) -> str:
    """Return `x` for `x:0`."""
    return name.removesuffix(":0")
