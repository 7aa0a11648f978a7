"""What the attributes of blocks are called, by the names that the source has for their layers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Sequence

from graphir.converters.pytorch.exporting.naming import OF_MODULES, Identifiers, common_scope
from graphir.converters.pytorch.exporting.pieces import Piece

BLOCK_NUMBER = re.compile(r"_(block|unit|layer|cell)?_?\d+$")


def inner_names(attributes: Sequence[str], branches: Container[str]) -> list[str]:
    """Return what the attributes of a block are called in its class: without the scope that they have in common."""
    names, scope = Identifiers(OF_MODULES), common_scope(attributes)
    inner = ["shortcut" if name in branches else _turned(name.removeprefix(scope)) for name in attributes]
    return [names.take(name) for name in _renumbered(inner)]


def _renumbered(names: Sequence[str]) -> list[str]:
    """Names that a network numbers through, counted from 1 in a block; without a number where there is one only.

    >>> _renumbered(["conv_76", "bn_76", "conv_77", "out"]), _renumbered(["conv0", "conv1"])
    (['conv_1', 'bn', 'conv_2', 'out'], ['conv0', 'conv1'])
    """
    parts = [re.fullmatch(r"(.*[A-Za-z])(_?)(\d+)", name) for name in names]
    numbers: dict[str, list[int]] = defaultdict(list)
    for met in parts:
        if met:
            numbers[met[1]].append(int(met[3]))
    result = []
    for name, met in zip(names, parts, strict=True):
        if met is None or (min(numbers[met[1]]) <= 1 and len(numbers[met[1]]) > 1):
            result.append(name)
        elif len(numbers[met[1]]) == 1:
            result.append(met[1])
        else:
            result.append(f"{met[1]}{met[2]}{int(met[3]) - min(numbers[met[1]]) + 1}")
    return result


def _turned(name: str) -> str:
    """`1_conv` as `conv1`."""
    met = re.fullmatch(r"n?(\d+)_([A-Za-z_]+)", name)
    return f"{met[2]}{met[1]}" if met else name


def scopes_of(uses: Sequence[Piece]) -> list[str]:
    """Return what the source calls the parts of the network that uses of a block stand in, without the numbers of
    blocks."""
    scopes = [BLOCK_NUMBER.sub("", whole_scope(use)) for use in uses]
    if len(set(scopes)) == len(scopes):
        scopes = [scope.rstrip("0123456789") for scope in scopes]
    return [scope or "blocks" for scope in scopes]


def whole_scope(use: Piece) -> str:
    """Return what the layers of a use have in common in their names, with its number."""
    return common_scope(use.attributes).rstrip("_")
