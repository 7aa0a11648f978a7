"""MXNet: the symbol's JSON, .params files and npz archives."""

from __future__ import annotations

import copy
import io
import json
import struct
import zipfile
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tests.fuzz.bytes_ import mutate_bytes, put_at_places
from tests.fuzz.case import Format, Model, Random, number
from tests.fuzz.json_ import TEXTS, mutate_json
from tests.fuzz.seeds import mxnet_model, of_rows
from tests.fuzz.zip_ import archive_of, mutate_zip

SHAPES = ("()", "(0,)", "(1,)", "(2, 3)", "(100000, 100000)", "(1000000000,)", "(-1, 3)", "(2147483648,)", "(1,) * 9")


def mutate_symbol(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another symbol; one time in ten other parameters."""
    if "m-0000.params" in model.files and chance.random() < 0.1:
        return model.with_file("m-0000.params", mutate_list(chance, model.files["m-0000.params"]))
    changed = mutate_json(chance, model.files["m-symbol.json"], more=(_other_attribute, _other_operator, _more_nodes))
    return model.with_file("m-symbol.json", changed)


@cache
def _parameters() -> dict[str, list[str]]:
    """The parameters of every operator that MXNet has."""
    from graphir.converters.mxnet.schema.registry import canonical_names, operator_schema

    return {name: list(operator_schema(name).parameters) for name in sorted(set(canonical_names().values()))}


def _node(chance: Random, tree: Any) -> dict[str, Any] | None:
    nodes = tree.get("nodes") if isinstance(tree, dict) else None
    found = [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []
    made = [node for node in found if node.get("op") != "null"] or found
    return chance.choice(made) if made else None


def attribute_text(chance: Random) -> str:
    """An attribute's text: a number, several, or something else."""
    roll = chance.random()
    if roll < 0.4:
        return str(number(chance))
    if roll < 0.6:
        return str(tuple(number(chance) for _ in range(chance.randrange(5))))
    return chance.choice(SHAPES if roll < 0.75 else TEXTS)


def _other_attribute(chance: Random, tree: Any) -> Any:
    """An attribute that the node's operator has, with another text."""
    tree = copy.deepcopy(tree)
    node = _node(chance, tree)
    if node is None:
        return tree
    attributes = node.setdefault("attrs", {})
    if isinstance(attributes, dict):
        names = [*_parameters().get(str(node.get("op")), ()), *attributes, "__shape__"]
        attributes[chance.choice(names)] = attribute_text(chance)
    return tree


def _other_operator(chance: Random, tree: Any) -> Any:
    """Another operator with the same operands."""
    tree = copy.deepcopy(tree)
    node = _node(chance, tree)
    if node is not None:
        node["op"] = chance.choice(list(_parameters()))
    return tree


def _more_nodes(chance: Random, tree: Any) -> Any:
    """A node once more, under another name, after all others, fed by any; a chain of them."""
    tree = copy.deepcopy(tree)
    node = _node(chance, tree)
    if node is None:
        return tree
    operands = len(node["inputs"]) if isinstance(node.get("inputs"), list) else 0
    for _ in range(chance.choice((1, 2, 30))):
        again = {**node, "name": f"again{len(tree['nodes'])}"}
        again["inputs"] = [[len(tree["nodes"]) - 1 - chance.randrange(2), 0, 0] for _ in range(operands)]
        tree["nodes"].append(again)
    if isinstance(tree.get("heads"), list):
        tree["heads"] = [*tree["heads"], [len(tree["nodes"]) - 1, 0, 0]]
    return tree


# A symbol that uses any parameter by any name, so that what a file holds is read to its end.
NAMES = ("a", "b", "c")


def _symbol_of(count: int) -> bytes:
    nodes: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in NAMES[:count]]
    nodes.append({"op": "add_n", "name": "sum", "attrs": {"num_args": str(count)},
                  "inputs": [[slot, 0, 0] for slot in range(count)]})  # fmt: skip
    document = {"nodes": nodes, "arg_nodes": list(range(count)), "heads": [[count, 0, 0]],
                "attrs": {"mxnet_version": ["int", 10901]}}  # fmt: skip
    return json.dumps(document).encode()


def _dense(layout: str, array: np.ndarray[Any, Any], flag: int) -> bytes:
    dims, end = array.shape, struct.pack("<iii", 1, 0, flag) + array.tobytes()
    if layout == "V0":
        return struct.pack(f"<I{len(dims)}I", len(dims), *dims) + end
    if layout == "V1":
        return struct.pack(f"<II{len(dims)}q", 0xF993FAC8, len(dims), *dims) + end
    magic = 0xF993FAC9 if layout == "V2" else 0xF993FACA
    return struct.pack(f"<Iii{len(dims)}q", magic, 0, len(dims), *dims) + end


def _row_sparse(shape: tuple[int, ...], rows: tuple[int, ...]) -> bytes:
    data = np.ones((len(rows), *shape[1:]), np.float32)
    head = struct.pack(f"<Iii{data.ndim}q", 0xF993FAC9, 1, data.ndim, *data.shape)
    head += struct.pack(f"<i{len(shape)}qiii", len(shape), *shape, 1, 0, 0)
    return head + struct.pack("<iiq", 6, 1, len(rows)) + data.tobytes() + np.array(rows, np.int64).tobytes()


def _csr(shape: tuple[int, int], starts: tuple[int, ...], columns: tuple[int, ...]) -> bytes:
    data = np.ones(len(columns), np.float32)
    head = struct.pack("<Iiiq", 0xF993FAC9, 2, 1, len(columns)) + struct.pack("<i2qiii", 2, *shape, 1, 0, 0)
    head += struct.pack("<iiqiiq", 6, 1, len(starts), 6, 1, len(columns))
    return head + data.tobytes() + np.array(starts, np.int64).tobytes() + np.array(columns, np.int64).tobytes()


def list_file(arrays: Sequence[bytes], names: Sequence[str]) -> bytes:
    """A .params file of arrays that are packed already."""
    end = struct.pack("<Q", len(names)) + b"".join(struct.pack("<Q", len(name)) + name.encode() for name in names)
    return struct.pack("<QQQ", 0x112, 0, len(arrays)) + b"".join(arrays) + end


def params_seeds() -> list[Model]:
    """Files of every layout, kind and some element types."""
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    rows = [
        *([_dense(layout, plain, 0)] * 3 for layout in ("V0", "V1", "V2", "V3")),
        [_dense("V2", plain.astype(np.float16), 2), _dense("V2", plain.astype(np.uint8), 3), _dense("V2", plain, 0)],
        [_dense("V2", plain.astype(np.int64), 6), _dense("V2", plain.astype(np.float64), 1)],
        [_row_sparse((5, 3), (1, 4)), _dense("V2", np.zeros((5, 3), np.float32), 0)],
        [_csr((2, 3), (0, 1, 3), (2, 0, 1)), _dense("V2", plain, 0)],
    ]
    return [
        Model("m-symbol.json", {
            "m-symbol.json": _symbol_of(len(arrays)),
            "m-0000.params": list_file(arrays, [f"arg:{name}" for name in NAMES[: len(arrays)]]),
        })
        for arrays in rows
    ]  # fmt: skip


def mutate_list(chance: Random, data: bytes) -> bytes:
    """Other numbers in the headers (every fourth byte may begin one), or other bytes anywhere."""
    if chance.random() < 0.25:
        return mutate_bytes(chance, data)
    places = [(at, width) for at in range(0, min(len(data), 400), 4) for width in (4, 8)]
    places += [(at, 8) for at in range(max(0, len(data) - 60), len(data))]
    for _ in range(chance.choice((1, 1, 2, 3))):
        data = put_at_places(chance, data, places)
    return data


def mutate_params(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another .params file beside the same symbol."""
    return model.with_file("m-0000.params", mutate_list(chance, model.files["m-0000.params"]))


def npz_seeds() -> list[Model]:
    """Archives as mx.npx.savez writes them, stored and compressed, in both orders of elements and several types."""
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    variants: list[tuple[list[Any], int]] = [
        ([plain, plain], zipfile.ZIP_STORED),
        ([plain, plain], zipfile.ZIP_DEFLATED),
        ([np.asfortranarray(plain), plain.astype(">f4"), plain], zipfile.ZIP_STORED),
        ([plain.astype(np.float16), plain.astype(np.int64), plain.astype(bool)], zipfile.ZIP_DEFLATED),
    ]
    found = []
    for arrays, method in variants:
        entries = []
        for name, array in zip(NAMES, arrays, strict=False):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, version=(1, 0))  # type: ignore[no-untyped-call]
            entries.append((f"{name}.npy", buffer.getvalue(), method))
        files = {"m-symbol.json": _symbol_of(len(arrays)), "m-0000.params": archive_of(entries)}
        found.append(Model("m-symbol.json", files))
    return found


def mutate_npy(chance: Random, name: str, data: bytes) -> bytes:
    """Another header of an array: its length, or one of the values in its text."""
    if chance.random() < 0.3 or len(data) < 12:
        return mutate_bytes(chance, data)
    if chance.random() < 0.3:
        return put_at_places(chance, data, ((4, 2), (6, 2), (8, 2), (8, 4)))
    length = struct.unpack_from("<H", data, 8)[0]
    header = data[10 : 10 + length].decode("latin1")
    body = data[10 + length :]
    shape = str(tuple(number(chance) for _ in range(chance.randrange(4))))
    code = chance.choice(("|O", "<U9", "<f2", "V8", ">c16", "<f16", "M8[s]"))
    swaps = (
        ("(2, 3)", shape), ("(2, 3)", "(" * 300), ("(2, 3)", "2"), ("<f4", code),
        ("False", "True"), ("'<f4'", "[('a', '<f4')]"), ("descr", "shape"), ("}", ", 'x': 1}"), ("{", "[{"),
        ("(2, 3)", "(" + "9" * 5000 + ",)"), ("False", "__import__('os').getcwd()"), ("(2, 3)", "(2.0, 3)"),
    )  # fmt: skip
    header = header.replace(*chance.choice(swaps))
    if chance.random() < 0.7:
        length = len(header)
    return data[:8] + struct.pack("<H", length % 65536) + header.encode("latin1") + body


def mutate_archive(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another archive beside the same symbol."""
    return model.with_file("m-0000.params", mutate_zip(chance, model.files["m-0000.params"], mutate_npy))


SYMBOL = Format("mxnet", lambda: of_rows(mxnet_model), mutate_symbol)
PARAMS = Format("params", params_seeds, mutate_params)
NPZ = Format("npz", npz_seeds, mutate_archive)

__all__ = ["NPZ", "PARAMS", "SYMBOL", "list_file"]
