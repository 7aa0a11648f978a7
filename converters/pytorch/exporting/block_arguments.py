"""Layers of a block that several uses share: which numbers of theirs differ, and what these are called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from graphir.converters.pytorch.exporting.layout import arguments_of
from graphir.converters.pytorch.exporting.naming import Identifiers
from graphir.converters.pytorch.exporting.state import ATTRIBUTE

# What a layer has where nothing is stated: options that only some uses of a block state are arguments with these.
DEFAULTS = {"stride": "1", "padding": "0", "dilation": "1", "groups": "1", "output_padding": "0"}
# What says whether a use has a layer that not all of them have.
FLAG = "project"
FLAGS = re.compile(rf"{FLAG}(_\d+)?")
NUMBERED = re.compile(r"\bnumber(_\d+)?\b")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?|\([\d, ]+\)")
ORDER = ("stride", "padding", "output_padding", "dilation", "groups", "bias", "eps", "momentum", "dtype")
ROLES = {
    "nn.Conv": ("in_channels", "out_channels", "kernel_size"), "nn.Linear": ("in_features", "out_features"),
    "nn.BatchNorm": ("num_features",), "nn.LayerNorm": ("normalized_shape",), "nn.Embedding": ("num_embeddings", "dim"),
}  # fmt: skip


@lru_cache(1 << 12)
def _parts(text: str) -> tuple[str, list[str], dict[str, str]] | None:
    """Return a constructor's name, its arguments, and its options; None for another text."""
    head, bracket, rest = text.partition("(")
    if not bracket or not rest.endswith(")") or not head.startswith("nn."):
        return None
    given: list[str] = []
    named: dict[str, str] = {}
    for part in arguments_of(rest[:-1]):
        name, equals, value = part.partition("=")
        if equals and name.isidentifier():
            named[name] = value
        else:
            given.append(part)
    return head, given, named


def skeleton(text: str) -> object:
    """Return what a layer's constructor has besides the numbers that may be arguments."""
    parts = _parts(text)
    if parts is None:
        return ATTRIBUTE.sub("self.", re.sub(r'"[A-Za-z0-9_]+"', '""', text, count=1))
    head, given, named = parts
    # A convolution over single elements, or one of groups, is another layer than one over windows or all channels.
    kind = (given[2] == "1", "groups" in named) if head.startswith("nn.Conv") else ()
    options = {name: "" if NUMBER.fullmatch(value) else value for name, value in named.items() if name not in DEFAULTS}
    arguments = tuple("" if NUMBER.fullmatch(value) else value for value in given)
    return head, kind, arguments, tuple(sorted(options.items()))


class _Arguments:
    """The arguments of a class: numbers in which its uses differ, one for those that are always the same."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        self._names = Identifiers()
        self._roles: dict[str, list[str]] = {}
        self._flags: dict[str, list[str]] = {}

    def text(self, values: Sequence[str | None], role: str) -> str:
        """Return a number in each use (None where it does not matter) as the class writes it."""
        given = {value for value in values if value is not None}
        if len(given) == 1 and None not in values:
            return given.pop()
        for name, others in self.values.items():
            if all(value is None or value == other for value, other in zip(values, others, strict=True)):
                self._roles[name].append(role)
                return name
        if len(given) == 1:
            return given.pop()
        name = self._names.take("number")
        self._roles[name] = [role]
        self.values[name] = [value if value is not None else DEFAULTS.get(role, "0") for value in values]
        return name

    def flag(self, values: list[str]) -> str:
        """Return the argument that says in which uses a class has a layer."""
        name = next((name for name, others in self._flags.items() if others == values), "")
        if not name:
            name = f"{FLAG}_{len(self._flags) + 1}" if self._flags else FLAG
            self._flags[name] = values
        return name

    def named(self, lines: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
        """Return the arguments and the texts that use them, with names that say what they are. Of several numbers of
        channels the last ones are those of the result."""
        names = Identifiers(("self", "nn", "torch"))
        wanted = {
            name: next((role for role in roles if role != "num_features"), roles[0])
            for name, roles in self._roles.items()
        }
        for role, plain in (("out_channels", "channels"), ("out_features", "features")):
            inner = [name for name, text in wanted.items() if text == role][:-1]
            wanted |= dict.fromkeys(inner, plain)
        new = {name: names.take(text, "number") for name, text in wanted.items()}
        texts = [NUMBERED.sub(lambda met: new.get(met[0], met[0]), text) for text in lines]
        return {new[name]: numbers for name, numbers in self.values.items()} | self._flags, texts


def block_arguments(
    texts: Sequence[Sequence[str]], branches: Sequence[Sequence[list[str] | None]]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the arguments of a class by name, with their value in each use, and how its attributes are made with
    them."""
    result = _Arguments()
    lines = []
    optional: dict[int, str] = {}
    for place in range(len(texts[0])):
        if any(use[place] is not None for use in branches):
            optional[place] = ""
            lines.append("")
        else:
            lines.append(_constructor([use[place] for use in texts], result))
    for place in optional:
        inner = [use[place] or [] for use in branches]
        layers = [
            _constructor([layers[index] if layers else None for layers in inner], result)
            for index in range(max(map(len, inner)))
        ]
        if all(inner) or not any(inner):
            lines[place] = as_one(layers)
            continue
        flag = result.flag([str(bool(layers)) for layers in inner])
        lines[place] = f"nn.Identity()\nif {flag}:\n    self.SHORTCUT = {as_one(layers)}"
    return result.named(lines)


def as_one(layers: Sequence[str]) -> str:
    """Return the constructor of layers that follow each other, as one layer."""
    if not layers:
        return "nn.Identity()"
    return layers[0] if len(layers) == 1 else f"nn.Sequential({', '.join(layers)})"


def _constructor(uses: Sequence[str | None], arguments: _Arguments) -> str:
    """Return a layer's constructor for all uses; None stands for one that has no such layer."""
    result = [None if text is None else _parts(text) for text in uses]
    plain = next(parts for parts, text in zip(result, uses, strict=True) if text is not None)
    if plain is None:
        return next(text for text in uses if text is not None)
    head, given, _ = plain
    roles = next((roles for start, roles in ROLES.items() if head.startswith(start)), ())
    positional = [
        arguments.text([parts and parts[1][slot] for parts in result], roles[slot] if slot < len(roles) else "number")
        for slot in range(len(given))
    ]
    options = {name for parts in result if parts for name in parts[2]}
    named = [
        f"{name}={arguments.text([parts and parts[2].get(name, DEFAULTS.get(name, '')) for parts in result], name)}"
        for name in sorted(options, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    ]
    return f"{head}({', '.join([*positional, *named])})"


def given_arguments(arguments: Mapping[str, Sequence[str]], place: int) -> Iterator[str]:
    """Yield the arguments of one use: those that mostly are the default by name, where they are not."""
    for name, values in sorted(arguments.items(), key=lambda item: default_of(item[0]) is not None):
        default = default_of(name)
        if default is None:
            yield values[place]
        elif values[place] != default:
            yield f"{name}={values[place]}"


def default_of(argument: str) -> str | None:
    """Return the default of a block's argument, None for one that has to be stated.

    >>> default_of("project_2"), default_of("projection_size"), default_of("stride")
    ('False', None, '1')
    """
    return "False" if FLAGS.fullmatch(argument) else DEFAULTS.get(argument)
