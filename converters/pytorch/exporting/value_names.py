"""What values are called in `forward`: by the names that the source has for them, else by what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from graphir.converters.pytorch.exporting.layer_names import layer_name
from graphir.converters.pytorch.exporting.naming import OF_FILE, SEPARATORS, Identifiers, identifier
from graphir.graph import Value

CHAIN = "x"
# Further names of values that the source only numbers.
SPARE = ("y", "z")
LONGEST_NAME = 28
# Operands that are looked at for the input that a value is computed from.
MOST_OPERANDS = 32
LAYER_CALL = re.compile(r"self\.([A-Za-z_][A-Za-z0-9_]*)\(")
# Names of nodes that only count those of an operator, as torch's exporters give them.
NUMBERED = re.compile(r"[A-Z][A-Za-z0-9]*(_\d+)?(_output_\d+)?|node_\w+|(val|tmp)_\d+|\d+")
COUNTED = re.compile(rf"{NUMBERED.pattern}|(node_)?(\w+)_(\d+_)?\5_\d+")
# What the result of an operator is called that has no name but its number.
ROLES = {
    "Add": "total", "Cast": "values", "Concat": "joined", "Cos": "cosine", "Div": "quotient", "Equal": "is_equal",
    "Expand": "expanded", "Gather": "rows", "Gelu": "hidden", "LayerNormalization": "hidden", "MatMul": "scores",
    "Max": "largest", "Mul": "scaled", "Neg": "negative", "Not": "is_not", "Pow": "power", "Range": "positions",
    "RMSNormalization": "hidden", "ReduceMean": "mean", "Relu": "hidden", "Reshape": "view", "Resize": "resized",
    "Sin": "sine", "Slice": "part", "Softmax": "weights", "Split": "part", "Sqrt": "root", "Sub": "difference",
    "Transpose": "turned", "Unsqueeze": "view", "Where": "chosen",
}  # fmt: skip


def candidates(value: Value) -> list[str]:
    """Return what a value may be called: by the last part of its layer's name, then by more of it."""
    node = value.producer
    name = value.name if node is None or len(node.outputs) > 1 else layer_name(node)
    parts = [part for part in SEPARATORS.split(name) if identifier(part)]
    names = [identifier("_".join(parts[-count:]), LONGEST_NAME) for count in range(1, min(len(parts), 4) + 1)]
    operator = "value" if node is None else identifier(node.op.name.lower())
    return [operator if text[1:].isdigit() else text for text in names] or [operator]


def value_name(value: Value) -> str:
    """Return what a value is called where it has no number of the whole network: if the source has no name for it, that
    of the input that it is computed from, of several."""
    if not is_numbered(value):
        return re.sub(r"_?\d+$", "", candidates(value)[0]) or CHAIN
    inputs: dict[str, None] = {}
    pending = [value]
    for operand in pending:
        node = operand.producer
        if node is None and operand.tensor is None:
            inputs[operand.name] = None
        pending += [] if node is None or len(pending) > MOST_OPERANDS else [each for each in node.inputs if each]
    is_chosen = len(inputs) == 1 < len(value.graph.inputs) and len(pending) <= MOST_OPERANDS
    return identifier(next(iter(inputs))) if is_chosen else role_of(value)


def is_numbered(value: Value) -> bool:
    """Return whether the source only counts the nodes of an operator, as torch's exporters do."""
    node = value.producer
    if node is None:
        return False
    name = layer_name(node) if len(node.outputs) == 1 else value.name
    return (NUMBERED if len(node.outputs) == 1 else COUNTED).fullmatch(SEPARATORS.split(name)[-1]) is not None


def role_of(value: Value) -> str:
    """Return what a value is, by its operator."""
    node = value.producer
    kind = "Value" if node is None else node.op.name
    return ROLES.get(kind) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()


def layer_words(attribute: str) -> Iterator[str]:
    """Yield what the result of a layer may be called: the last word of its name, then all of it."""
    words = [word for word in attribute.lower().split("_") if not word.lstrip("n").isdigit()]
    yield from [words[-1], "_".join(words[-2:])] if words else []


def input_names(values: Sequence[Value]) -> list[str]:
    """Return what the arguments of the model's `forward` are called: `x` where there is one."""
    if len(values) == 1:
        return [CHAIN]
    names = Identifiers(OF_FILE)
    return [names.take(value.name) for value in values]
