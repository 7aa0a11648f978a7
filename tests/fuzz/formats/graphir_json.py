"""graphir's own JSON and the safetensors file beside it."""

from __future__ import annotations

import copy
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from tests.fuzz.bytes_ import mutate_bytes, put_number
from tests.fuzz.case import Format, Model, Random, number
from tests.fuzz.formats.mxnet import mutate_symbol
from tests.fuzz.json_ import mutate_json
from tests.fuzz.seeds import converted, of_rows

WEIGHTS = "m.graphir.safetensors"


def mutate(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another document, or another weights file."""
    if model.entry != "m.graphir.json":  # a row that cannot be imported
        return mutate_symbol(chance, model, seeds)
    if WEIGHTS in model.files and chance.random() < 0.4:
        return model.with_file(WEIGHTS, mutate_safetensors(chance, model.files[WEIGHTS]))
    changed = mutate_json(chance, model.files["m.graphir.json"], more=(_other_attribute, _other_operator, _other_size))
    return model.with_file("m.graphir.json", changed)


def mutate_safetensors(chance: Random, data: bytes) -> bytes:
    """Another header, with its length right or not, or other bytes."""
    roll = chance.random()
    if roll < 0.2:
        return mutate_bytes(chance, data)
    if roll < 0.35:
        return put_number(chance, data, 0, 8)
    length = struct.unpack_from("<Q", data)[0]
    header = mutate_json(chance, data[8 : 8 + length])
    return struct.pack("<Q", len(header)) + header + data[8 + length :]


@cache
def _operators() -> dict[str, list[str]]:
    import dataclasses

    from graphir.ops import operator_table

    return {
        name: [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        for name, cls in operator_table().items()
    }


def _nodes(tree: Any) -> list[dict[str, Any]]:
    found = tree.get("nodes") if isinstance(tree, dict) else None
    return [node for node in found if isinstance(node, dict)] if isinstance(found, list) else []


def _other_operator(chance: Random, tree: Any) -> Any:
    tree = copy.deepcopy(tree)
    for node in _nodes(tree)[-1:]:
        node["op"] = chance.choice(list(_operators()))
    return tree


def _other_attribute(chance: Random, tree: Any) -> Any:
    """An attribute that the operator has: a number, a list of them, true, or a text."""
    tree = copy.deepcopy(tree)
    nodes = _nodes(tree)
    if not nodes:
        return tree
    node = chance.choice(nodes)
    names = _operators().get(str(node.get("op"))) or ["x"]
    several = [number(chance) for _ in range(chance.randrange(4))]
    values = (number(chance), several, [several, several], 1.5, "nan", True, None, "x")
    attributes = node.setdefault("attributes", {})
    if isinstance(attributes, dict):
        attributes[chance.choice(names)] = chance.choice(values)
    return tree


def _other_size(chance: Random, tree: Any) -> Any:
    """Another shape of an input, a parameter or a result."""
    tree = copy.deepcopy(tree)
    if not isinstance(tree, dict):
        return tree
    holders = [tree, *_nodes(tree)]
    lists = [holder.get(key) for holder in holders for key in ("inputs", "parameters", "outputs")]
    values = [value for found in lists if isinstance(found, list) for value in found if isinstance(value, dict)]
    typed = [value for value in values if isinstance(value.get("type"), list) and len(value["type"]) > 1]
    if typed:
        chance.choice(typed)["type"][1] = chance.choice(
            ([number(chance)], [number(chance), 2], None, ["N", 3], ["N*" * 200 + "N"], ["(" * 500], [1] * 40, "x")
        )
    return tree


GRAPHIR = Format("graphir", lambda: of_rows(lambda row: converted(row, "m.graphir.json")), mutate)

__all__ = ["GRAPHIR"]
