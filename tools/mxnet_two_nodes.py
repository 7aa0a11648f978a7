"""Write what MXNet 2.0 computes of operators that no layer makes: small symbols, their inputs and outputs.

Run by hand in an environment with live MXNet 2.0.0b1 and NumPy below 1.24, beside `mxnet_two.py`:

    python tools/mxnet_two_nodes.py tests/converters/mxnet/two

`nodes.json` and `nodes.npz` hold them. The tests need no MXNet.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mxnet as mx  # noqa: TID251
import numpy as np

Made = dict[str, np.ndarray[Any, Any]]
# Operator, attributes, and operands: names of inputs, or places of earlier nodes.
Node = tuple[str, dict[str, Any], Sequence[str | int]]
# Nodes in order, inputs, and how many outputs the last node has.
Row = tuple[list[Node], Made, int]


def single(operator: str, inputs: Made, outputs: int = 1, **attributes: Any) -> Row:
    """One operator of inputs in order."""
    return [(operator, attributes, list(inputs))], inputs, outputs


def symbol(nodes: Sequence[Node], inputs: Made, outputs: int) -> str:
    """The JSON of a symbol."""
    count = len(inputs)
    places = {name: place for place, name in enumerate(inputs)}
    records: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in inputs]
    for place, (operator, attributes, operands) in enumerate(nodes):
        entries = [[places[each] if isinstance(each, str) else count + each, 0, 0] for each in operands]
        texts = {name: str(value) for name, value in attributes.items() if name != "subgraph"}
        record = {"op": operator, "name": f"made{place}", "attrs": texts, "inputs": entries}
        records.append(record | ({"subgraphs": [attributes["subgraph"]]} if "subgraph" in attributes else {}))
    return json.dumps(
        {
            "nodes": records,
            "arg_nodes": list(range(count)),
            "node_row_ptr": list(range(len(records) + 1)),
            "heads": [[len(records) - 1, slot, 0] for slot in range(outputs)],
            "attrs": {"mxnet_version": ["int", 20000], "is_np_shape": ["int", 1]},
        }
    )


def rows() -> dict[str, Row]:
    """The symbols, by name."""
    draw = np.random.Generator(np.random.PCG64(10))
    parts = (_places, _attention, _factors, _bytes, _products, _batches)
    return {name: row for part in parts for name, row in part(draw).items()}


def _places(draw: np.random.Generator) -> dict[str, Row]:
    x = draw.standard_normal((2, 3, 4)).astype(np.float32)
    found: dict[str, Row] = {}
    masks = {"rows": [1, 0, 1], "matrix": [[1, 0], [1, 1]]}
    for name, numbers in masks.items():
        for dtype in ("int32", "int64"):
            places = {"data": x.transpose(1, 0, 2).copy(), "indices": np.array(numbers, dtype)}
            found[f"advanced_indexing_{name}_{dtype}"] = single("_npi_advanced_indexing", places)
    found["advanced_indexing_bool"] = single("_npi_advanced_indexing", {"data": x, "indices": np.array([False, True])})
    for name, numbers in {"two": [[1, 0, -1], [2, 1, -3]], "one": [[1, 1]]}.items():
        places = {"data": x, "indices": np.array(numbers, np.int64)}
        found[f"advanced_indexing_multiple_{name}"] = single("_npi_advanced_indexing_multiple", places)
    for dtype in ("int32", "int64", "float32"):
        for name, sizes in {"sizes": [4, 6], "rest": [0, -1], "flat": [-1]}.items():
            shapes = {"data": x, "shape": np.array(sizes, dtype)}
            found[f"dynamic_reshape_{name}_{dtype}"] = single("_contrib_dynamic_reshape", shapes)
    return found


def _attention(draw: np.random.Generator) -> dict[str, Row]:
    query, key, value = (draw.standard_normal((2, 7, 3, 4)).astype(np.float32) for _ in range(3))
    dilation, valid = np.array([1, 2, 3], np.int32), np.array([7, 4], np.int32)
    found: dict[str, Row] = {}
    for symmetric in (True, False):
        for width in (0, 1, 2):
            flags = {"w": width, "symmetric": symmetric}
            score = draw.standard_normal((2, 7, 3, 2 * width + 1 if symmetric else width + 1)).astype(np.float32)
            name = f"{'both' if symmetric else 'before'}_{width}"
            found[f"sldwin_score_{name}"] = single(
                "_contrib_sldwin_atten_score", {"query": query, "key": key, "dilation": dilation}, **flags
            )
            found[f"sldwin_context_{name}"] = single(
                "_contrib_sldwin_atten_context", {"score": score, "value": value, "dilation": dilation}, **flags
            )
            masked = {"score": score, "dilation": dilation, "valid_length": valid}
            found[f"sldwin_mask_{name}"] = single("_contrib_sldwin_atten_mask_like", masked, **flags)
    return found


def _factors(draw: np.random.Generator) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for dtype in ("float32", "float64"):
        tall, wide = (draw.standard_normal(shape).astype(dtype) for shape in ((2, 5, 3), (2, 3, 5)))
        square, low = draw.standard_normal((4, 4)).astype(dtype), tall[0].copy()
        low[:, 2] = low[:, 0] - 2 * low[:, 1]
        matrices = {"tall": tall, "wide": wide, "square": square}
        for name, matrix in matrices.items():
            found[f"qr_{name}_{dtype}"] = single("_npi_qr", {"A": matrix}, 2)
        epsilons: dict[str, Any] = {
            "finfoEps32": float(np.finfo("float32").eps),
            "finfoEps64": float(np.finfo("float64").eps),
        }
        for name, matrix in {**matrices, "low": low, "vector": low[0], "zeros": np.zeros(3, dtype)}.items():
            found[f"rank_{name}_{dtype}"] = single("_npi_matrix_rank_none_tol", {"M": matrix}, **epsilons)
            limit = np.array(0.5, dtype)
            found[f"rank_beyond_{name}_{dtype}"] = single("_npi_matrix_rank", {"M": matrix, "tol": limit})
        limits = np.array([[0.5, 2.0], [1.5, 9.0]], dtype)
        found[f"rank_limits_{dtype}"] = single("_npi_matrix_rank", {"M": wide, "tol": limits})
        sides = {"matrix": (5, 2), "vector": (5,)}
        for name, shape in sides.items():
            right = draw.standard_normal(shape).astype(dtype)
            found[f"lstsq_{name}_{dtype}"] = single("_npi_lstsq", {"A": tall[0], "B": right}, 4, rcond=-1)
            found[f"lstsq_new_{name}_{dtype}"] = single(
                "_npi_lstsq", {"A": tall[1], "B": right}, 4, new_default=True, **epsilons
            )
            found[f"lstsq_low_{name}_{dtype}"] = single("_npi_lstsq", {"A": low, "B": right}, 4, rcond=1e-4)
        right = draw.standard_normal((3, 2)).astype(dtype)
        found[f"lstsq_wide_{dtype}"] = single("_npi_lstsq", {"A": wide[0], "B": right}, 4, rcond=-1)
    whole = draw.integers(-5, 6, (4, 3)).astype(np.int32)
    found["qr_int32"] = single("_npi_qr", {"A": whole}, 2)
    return found


def _bytes(draw: np.random.Generator) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for dtype, low in (("int8", -127), ("uint8", 0)):
        numbers = draw.integers(low, 128, (2, 3, 4)).astype(dtype)
        ends = {"min_data": np.array([-2.0], np.float32), "max_data": np.array([2.5], np.float32)}
        held = {"data": numbers, **ends}
        found[f"quantized_reshape_{dtype}"] = single("_contrib_quantized_reshape", held, 3, shape="(0, -1)")
        found[f"npx_quantized_reshape_{dtype}"] = single("_npx_quantized_reshape", held, 3, newshape="(-2, -1)")
        for operator in ("_contrib_quantized_transpose", "_npx_quantized_transpose"):
            found[f"{operator[1:]}_{dtype}"] = single(operator, held, 3, axes="(2, 0, 1)")
            found[f"{operator[1:]}_reversed_{dtype}"] = single(operator, held, 3)
    return found


def _products(draw: np.random.Generator) -> dict[str, Row]:
    data, weight = (draw.standard_normal(shape).astype(np.float32) for shape in ((2, 5, 64), (16, 64)))
    data[0, 0, :4] = [0.0, 9.0, -9.0, 4.5]
    largest, reach = np.array([4.0], np.float32), np.array([3.0], np.float32)
    scale, bias = np.array([0.25], np.float32), draw.standard_normal(16).astype(np.float32)
    found = {
        "intgemm_largest": single("_contrib_intgemm_maxabsolute", {"data": data}),
        "intgemm_data": single("_contrib_intgemm_prepare_data", {"data": data, "maxabs": largest}),
        "intgemm_data_of_0": single("_contrib_intgemm_prepare_data", {"data": data, "maxabs": largest * 0}),
    }
    prepare: Node = ("_contrib_intgemm_prepare_weight", {}, ["weight", "reach"])
    take: Node = ("_contrib_intgemm_take_weight", {}, [0, "places"])
    held = {"data": data, "weight": weight, "reach": reach}
    flags = {"num_hidden": 16, "flatten": False}
    operator = "_contrib_intgemm_fully_connected"
    plain: Node = (operator, {**flags, "no_bias": True}, ["data", 0, "scale"])
    added: Node = (operator, flags, ["data", 0, "scale", "bias"])
    whole: Node = (operator, {**flags, "no_bias": True, "out_type": "int32"}, ["data", 0])
    found["intgemm_float"] = [prepare, plain], {**held, "scale": scale}, 1
    found["intgemm_bias"] = [prepare, added], {**held, "scale": scale, "bias": bias}, 1
    found["intgemm_int32"] = [prepare, whole], held, 1
    summed: Node = (operator, {**flags, "out_type": "int32"}, ["data", 0, "bias"])
    found["intgemm_int32_bias"] = [prepare, summed], {**held, "bias": np.arange(16, dtype=np.int32)}, 1
    eight = {**flags, "num_hidden": 8, "no_bias": True}
    taken: Node = (operator, eight, ["data", 1, "scale"])
    places = np.array([3, 1, 0, 2, 9, 8, 15, 4], np.int32)
    found["intgemm_taken"] = [prepare, take, taken], {**held, "scale": scale, "places": places}, 1
    bytes_of_data: Node = ("_contrib_intgemm_prepare_data", {}, ["data", "most"])
    ready: Node = ("_contrib_intgemm_prepare_weight", {"already_quantized": True}, ["weight"])
    product: Node = (operator, {**flags, "no_bias": True}, [1, 0, "scale"])
    ready_inputs: dict[str, Any] = {
        "data": data,
        "weight": draw.integers(-127, 128, (16, 64)).astype(np.int8),
        "most": largest,
        "scale": scale,
    }
    found["intgemm_bytes"] = [ready, bytes_of_data, product], ready_inputs, 1
    flat: Node = (operator, {"num_hidden": 16, "no_bias": True, "out_type": "int32"}, ["data", 0])
    found["intgemm_matrix"] = [prepare, flat], {**held, "data": data[0]}, 1
    return found


def _inside(**attributes: str) -> dict[str, Any]:
    """A symbol of one batch_dot."""
    variables: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in ("left", "right")]
    product = {"op": "batch_dot", "name": "product", "attrs": attributes, "inputs": [[0, 0, 0], [1, 0, 0]]}
    return {"nodes": [*variables, product], "arg_nodes": [0, 1], "node_row_ptr": [0, 1, 2, 3], "heads": [[2, 0, 0]]}


def _batches(draw: np.random.Generator) -> dict[str, Row]:
    """Products that oneDNN fuses."""
    found: dict[str, Row] = {}
    left, right = (draw.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), (2, 4, 5)))
    ends = [np.array([number], np.float32) for number in (-2.0, 1.5, -1.0, 3.0)]
    ways: dict[str, tuple[dict[str, Any], int]] = {
        "int32": ({}, 3),
        "float": ({"enable_float_output": True}, 1),
        "calibrated": ({"min_calib_range": -8.3, "max_calib_range": 4.0}, 3),
    }
    for name, (first, second) in {
        "plain": (False, False), "left": (True, False), "right": (False, True), "both": (True, True)
    }.items():  # fmt: skip
        flags = {"transpose_a": first, "transpose_b": second}
        texts = {key: str(value) for key, value in flags.items()}
        operands: Made = {
            "lhs": left.transpose(0, 2, 1).copy() if first else left,
            "rhs": right.transpose(0, 2, 1).copy() if second else right,
        }
        node: Node = "_sg_onednn_batch_dot", {**flags, "quantized": False, "subgraph": _inside(**texts)}, ["lhs", "rhs"]
        found[f"onednn_batch_dot_{name}"] = [node], operands, 1
        for dtype, low in (("int8", -127), ("uint8", 0)):
            numbers: Made = {
                "lhs": draw.integers(low, 128, operands["lhs"].shape).astype(dtype),
                "rhs": draw.integers(-127, 128, operands["rhs"].shape).astype(np.int8),
                **dict(zip(("lhs_min", "lhs_max", "rhs_min", "rhs_max"), ends, strict=True)),
            }
            for way, (stated, outputs) in ways.items():
                attributes = {**flags, **stated, "quantized": True, "subgraph": _inside(**texts)}
                made: Node = ("_sg_onednn_batch_dot", attributes, list(numbers))
                found[f"onednn_batch_dot_{name}_{dtype}_{way}"] = [made], numbers, outputs
    return found


def main(folder: Path) -> None:
    """Write everything into the folder."""
    arrays: dict[str, Any] = {}
    symbols: dict[str, Any] = {}
    for name, (nodes, inputs, outputs) in rows().items():
        text = symbol(nodes, inputs, outputs)
        bound = {key: mx.np.array(value, dtype=value.dtype) for key, value in inputs.items()}
        found = mx.symbol.fromjson(text)._bind(mx.cpu(), bound, grad_req="null").forward(is_train=False)
        symbols[name] = json.loads(text)
        results = {f"output{place}": result.asnumpy() for place, result in enumerate(found)}
        arrays |= {f"{name}/{key}": value for key, value in (*inputs.items(), *results.items())}
    (folder / "nodes.json").write_text(json.dumps(symbols) + "\n", encoding="ascii")
    np.savez_compressed(folder / "nodes.npz", **arrays)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write what MXNet 2.0 computes of operators that no layer makes.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    main(parser.parse_args().folder)
