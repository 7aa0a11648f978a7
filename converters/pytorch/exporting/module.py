"""The text of a file: docstring, imports, functions, the class, and what loads its weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from graphir.converters.pytorch.exporting.block_arguments import default_of
from graphir.converters.pytorch.exporting.compose import ForwardBody
from graphir.converters.pytorch.exporting.design import ClassDesign, Design
from graphir.converters.pytorch.exporting.functions import functions_for
from graphir.converters.pytorch.exporting.layout import WIDTH, lines_of
from graphir.converters.pytorch.exporting.methods import Method
from graphir.converters.pytorch.exporting.state import DTYPES, Export
from graphir.decisions import DecisionKind
from graphir.safety.foreign_text import one_line
from graphir.types import OptionalType, SequenceType, TensorType, Type

LONGEST_TITLE = 116
# What a conversion left out that training has; for training gammas and statistics are kept as they are.
FROZEN = {DecisionKind.FIXED_BETA, DecisionKind.FIXED_GAMMA, DecisionKind.FIXED_STATISTICS}
OF_TRAINING = {*FROZEN, DecisionKind.DROPOUT_REMOVED, DecisionKind.LOSS_HEAD, DecisionKind.LOSS_HEAD_REMOVED}
MOST_MISSING = 6
# The type of a method's results, in characters: many of one type are a tuple of any length.
LONGEST_RESULT = 40


def module_text(export: Export, design: Design, title: str) -> str:
    """Return the text of the file."""
    code = [line for block in design.classes for line in ("", "", *_class_lines(block))][2:]
    functions = functions_for(export.functions)
    text = "\n".join([*(function.text for function in functions), *code])
    parts = [_docstring(export, title), "", *_imports(text, loads=True), ""]
    parts += ['WEIGHTS = Path(__file__).with_suffix(".safetensors")', ""]
    for function in functions:
        parts += ["", function.text, ""]
    return "\n".join([*parts, "", *code, "", "", *_load_lines(design.classes[-1].name, training=export.training), ""])


def recording_text(export: Export, design: Design) -> tuple[str, list[str]]:
    """Return the text of a module that computes the same and calls `record(name, tensor)` with every value of the
    graph, and the names of these. It is a single class."""
    (net,) = design.classes
    (forward,) = net.methods
    body = ForwardBody(forward.statements, forward.outputs, forward.inputs, forward.values, records=True)
    functions = [function.text for function in functions_for(export.functions)]
    code = "\n".join([*functions, *_class_lines(net, body.lines())])
    return "\n".join([*_imports(code, loads=False), "", code, ""]), body.recorded


def _docstring(export: Export, title: str) -> str:
    count = sum(tensor.size for tensor in export.tensors.values())
    lines = [_safe(title), ""]
    lines += [f"Input {_safe(value.name)}: {_safe(value.type)}" for value in export.graph.inputs]
    lines += [f"Output {_safe(value.name)}: {_safe(value.type)}" for value in export.graph.outputs]
    lines.append(f"Parameters: {count:,}")
    lines += map(_safe, export.notes.values())
    kinds = OF_TRAINING - FROZEN if export.training else OF_TRAINING
    missing: dict[str, list[str]] = {}
    for decision in export.graph.decisions:
        if decision.kind in kinds and decision.node not in export.notes:
            missing.setdefault(_safe(decision.text), []).append(_safe(decision.node))
    if missing:
        purpose = "training, which will" if export.training else "inference. Training would"
        lines += ["", f"It is written for {purpose} miss:"]
        lines += [_missing_line(text, nodes) for text, nodes in islice(missing.items(), MOST_MISSING)]
        left = sum(map(len, islice(missing.values(), MOST_MISSING, None)))
        lines += [f"- and {left} more"] if left else []
    return '"""' + "\n".join(line[:LONGEST_TITLE].rstrip() for line in lines) + '\n"""'


def _missing_line(text: str, nodes: Sequence[str]) -> str:
    """Return what is missing of some nodes, of which the first is named, in full where there is room for that."""
    who = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes, like {nodes[0]}"
    room = LONGEST_TITLE - len(f"- : {text}")
    who = who if len(who) <= room else who[: max(room - 3, 0)].rstrip("\\") + "..."
    return f"- {who}: {text}"


def _safe(text: object) -> str:
    """Return a text of the model inside a docstring or comment: one line of ASCII that ends no string."""
    shown = one_line(text).encode("ascii", "backslashreplace").decode("ascii")
    return shown.replace("\\", "\\\\").replace('"', "'")


def _imports(code: str, *, loads: bool) -> list[str]:
    lines = ["import math"] if "math." in code else []
    lines += ["from collections.abc import Callable"] if "Callable[" in code else []
    lines += ["from pathlib import Path"] if loads else []
    lines += [""] if lines else []
    lines += ["import torch"] if "torch." in code else []
    if "F." in code:
        lines.append("import torch.nn.functional as F")
    if loads:
        lines.append("from safetensors.torch import load_file")
    return [*lines, "from torch import Tensor, nn"]


def _class_lines(block: ClassDesign, body: Iterable[str] | None = None) -> Iterator[str]:
    yield f"class {block.name}(nn.Module):"
    for attribute in block.buffers:
        yield f"    {attribute}: Tensor"
    if block.buffers:
        yield ""
    if block.init_lines:
        arguments = [
            f"{name}: {_kind(values)}" + ("" if default_of(name) is None else f" = {default_of(name)}")
            for name, values in sorted(block.arguments.items(), key=lambda item: default_of(item[0]) is not None)
        ]
        yield from _head("__init__", arguments, "None")
        yield "        super().__init__()"
        for statement in block.init_lines:
            text = statement.lstrip()
            yield from lines_of(text.rstrip(), 2 + (len(statement) - len(text)) // 4)
        yield ""
    for place, method in enumerate(block.methods):
        if place:
            yield ""
        yield from _method_head(method)
        yield from body or method.lines(says_shapes=block.says_shapes, scope=block.scope)


def _method_head(method: Method) -> Iterator[str]:
    results = [annotation(type_) for type_ in method.results]
    returned = results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"
    if len(returned) > LONGEST_RESULT and len(set(results)) == 1:
        returned = f"tuple[{results[0]}, ...]"
    kinds = [_setting(name) if type_ is None else annotation(type_) for (_, name), type_ in
             zip(method.inputs, method.types, strict=True)]  # fmt: skip
    parameters = [f"{name}: {kind}" for (_, name), kind in zip(method.inputs, kinds, strict=True)]
    yield from _head(method.name, parameters, returned)


def _setting(name: str) -> str:
    """Return the type of what is read of an input: its device, or one of its sizes."""
    return "torch.device" if name.startswith("device") else "int"


def _head(name: str, parameters: Sequence[str], returned: str) -> Iterator[str]:
    """Yield the first lines of a method."""
    whole = f"    def {name}({', '.join(['self', *parameters])}) -> {returned}:"
    if len(whole) <= WIDTH:
        yield whole
        return
    yield f"    def {name}("
    yield from (f"        {parameter}," for parameter in ("self", *parameters))
    yield f"    ) -> {returned}:"


def _kind(values: Sequence[str]) -> str:
    """Return the type of an argument by its values."""
    if all(value.lstrip("-").isdigit() for value in values):
        return "int"
    if any(value.startswith("(") for value in values):
        return "int | tuple[int, ...]"
    return "bool" if set(values) <= {"True", "False"} else "float"


def is_annotated(type_: Type) -> bool:
    """Return whether a module can take or give values of a type."""
    if isinstance(type_, SequenceType | OptionalType):
        return is_annotated(type_.element)
    return isinstance(type_, TensorType) and (type_.dtype is None or type_.dtype in DTYPES)


def annotation(type_: Type) -> str:
    """Return a type as Python annotates it."""
    if isinstance(type_, SequenceType):
        return f"list[{annotation(type_.element)}]"
    if isinstance(type_, OptionalType):
        return f"{annotation(type_.element)} | None"
    assert isinstance(type_, TensorType), "what has no tensors is refused before"
    return "Tensor"


def _load_lines(name: str, *, training: bool) -> Iterator[str]:
    yield f"def load(path: str | Path = WEIGHTS) -> {name}:"
    purpose = "training" if training else "inference"
    yield f'    """Return the network with the weights of a file, ready for {purpose}."""'
    yield f"    net = {name}()"
    yield "    net.load_state_dict(load_file(path))"
    yield "    return net.train()" if training else "    return net.eval()"
