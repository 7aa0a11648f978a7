"""The text of a file: docstring, imports, functions, the class, and what loads its weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphir.converters.pytorch.exporting.compose import Body
from graphir.converters.pytorch.exporting.expression import Expr, call
from graphir.converters.pytorch.exporting.functions import functions_for
from graphir.converters.pytorch.exporting.layout import WIDTH, lines_of
from graphir.converters.pytorch.exporting.state import Export
from graphir.safety.foreign_text import one_line
from graphir.tensor import Tensor
from graphir.types import OptionalType, SequenceType, TensorType, Type

LONGEST_TITLE = 200


def module_text(export: Export, outputs: Sequence[Expr], name: str, title: str) -> str:
    """The text of the file."""
    body = Body(export, outputs)
    code = [*_class_lines(export, body, name)]
    functions = functions_for(export.functions)
    text = "\n".join([*(function.text for function in functions), *code])
    parts = [_docstring(export, title), "", *_imports(text, loads=True), ""]
    parts += ['WEIGHTS = Path(__file__).with_suffix(".safetensors")', ""]
    for function in functions:
        parts += ["", function.text, ""]
    return "\n".join([*parts, "", *code, "", "", *_load_lines(name), ""])


def recording_text(export: Export, outputs: Sequence[Expr], name: str) -> tuple[str, list[str]]:
    """The text of a module that computes the same and calls `record(name, tensor)` with every value of the graph, and
    the names of these."""
    body = Body(export, outputs, records=True)
    functions = [function.text for function in functions_for(export.functions)]
    code = "\n".join([*functions, *_class_lines(export, body, name)])
    return "\n".join([*_imports(code, loads=False), "", code, ""]), body.recorded


def _docstring(export: Export, title: str) -> str:
    count = sum(tensor.size for tensor in tensors_of(export).values())
    lines = [_safe(title), ""]
    lines += [f"Input {_safe(value.name)}: {_safe(value.type)}" for value in export.graph.inputs]
    lines += [f"Output {_safe(value.name)}: {_safe(value.type)}" for value in export.graph.outputs]
    lines.append(f"Parameters: {count:,}")
    return '"""' + "\n".join(line[:LONGEST_TITLE] for line in lines) + '\n"""'


def _safe(text: object) -> str:
    """A text of the model inside a docstring or comment: one line of ASCII that ends no string."""
    shown = one_line(text).encode("ascii", "backslashreplace").decode("ascii")
    return shown.replace("\\", "\\\\").replace('"', "'")


def _imports(code: str, *, loads: bool) -> list[str]:
    lines = ["import math"] if "math." in code else []
    lines += ["from pathlib import Path"] if loads else []
    lines += ["", "import torch"] if lines else ["import torch"]
    if "F." in code:
        lines.append("import torch.nn.functional as F")
    if loads:
        lines.append("from safetensors.torch import load_file")
    return [*lines, "from torch import Tensor, nn"]


def _class_lines(export: Export, body: Body, name: str) -> Iterator[str]:
    yield f"class {name}(nn.Module):"
    buffers = [stored.attribute for stored in export.stored.values() if stored.is_buffer]
    for attribute in buffers:
        yield f"    {attribute}: Tensor"
    if buffers:
        yield ""
    made = [f"self.{layer.attribute} = {layer.constructor}" for layer in export.layers.values()]
    made += [stored.statement for stored in export.stored.values()]
    made += export.ties
    if made:
        yield "    def __init__(self) -> None:"
        yield "        super().__init__()"
        for statement in made:
            yield from lines_of(statement, 2)
        yield ""
    yield from _forward_lines(export, body)


def _forward_lines(export: Export, body: Body) -> Iterator[str]:
    results = [annotation(value.type) for value in export.graph.outputs]
    returned = results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"
    parameters = ["self", *(f"{name}: {annotation(value.type)}" for name, value in body.inputs)]
    head = call("def forward", *parameters)
    if len(f"    {head} -> {returned}:") <= WIDTH:
        yield f"    {head} -> {returned}:"
    else:
        yield "    def forward("
        for parameter in parameters:
            yield f"        {parameter},"
        yield f"    ) -> {returned}:"
    yield from body.lines()


def annotation(type_: Type) -> str:
    """A type as Python annotates it."""
    if isinstance(type_, SequenceType):
        return f"list[{annotation(type_.element)}]"
    if isinstance(type_, OptionalType):
        return f"{annotation(type_.element)} | None"
    assert isinstance(type_, TensorType), "what has no tensors is refused before"
    return "Tensor"


def _load_lines(name: str) -> Iterator[str]:
    yield f"def load(path: str | Path = WEIGHTS) -> {name}:"
    yield '    """Return the network with the weights of a file, ready for inference."""'
    yield f"    net = {name}()"
    yield "    net.load_state_dict(load_file(path))"
    yield "    return net.eval()"


def tensors_of(export: Export) -> dict[str, Tensor]:
    """The tensors of the state_dict by their keys."""
    found = {stored.attribute: stored.tensor for stored in export.stored.values() if stored.tensor is not None}
    for layer in export.layers.values():
        found |= {f"{layer.attribute}.{name}": tensor for name, tensor in layer.tensors.items()}
    return found


__all__ = ["module_text", "recording_text", "tensors_of"]
