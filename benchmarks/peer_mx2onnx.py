"""One conversion by mx2onnx, as a contestant for `convert.py`: SYMBOL PARAMS FEEDS TARGET.

Runs in an environment with MXNet 1.9.1. On NumPy 1.24 and later the six names that MXNet needs are given back; on onnx
1.19 and later so is `onnx.mapping`, and the opset is pinned to 13, the last one that mx2onnx writes.
"""

import argparse
import json
import os
import sys
import types
import warnings
from typing import Any

import numpy as np

OPSET = 13


def give_back_numpy_names() -> None:
    names = {"bool": bool, "object": object, "int": int, "float": float, "complex": complex, "str": str}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, builtin in names.items():
            if not hasattr(np, name):
                setattr(np, name, builtin)


def give_back_onnx_mapping() -> None:
    import onnx
    from onnx import checker, defs, helper

    mapping: Any = types.ModuleType("onnx.mapping")
    known = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13)
    mapping.TENSOR_TYPE_TO_NP_TYPE = {number: helper.tensor_dtype_to_np_dtype(number) for number in known}
    mapping.NP_TYPE_TO_TENSOR_TYPE = {dtype: number for number, dtype in mapping.TENSOR_TYPE_TO_NP_TYPE.items()}
    sys.modules["onnx.mapping"] = mapping
    vars(onnx)["mapping"] = mapping

    defs.onnx_opset_version = lambda: OPSET
    context = checker.C.CheckerContext()
    context.ir_version = 8
    context.opset_imports = {"": OPSET}
    check_graph, make_model = checker.check_graph, helper.make_model
    vars(checker)["check_graph"] = lambda graph, _=None: check_graph(graph, context)
    pinned = {"opset_imports": [helper.make_opsetid("", OPSET)], "ir_version": 8}
    helper.make_model = lambda graph, **_: make_model(graph, **pinned)


def main(symbol: str, params: str, feeds: str, target: str) -> None:
    give_back_numpy_names()
    import onnx

    if not hasattr(onnx, "mapping"):
        give_back_onnx_mapping()
    import mxnet

    with open(feeds) as file:
        shapes = [tuple(shape) for shape in json.load(file).values()]
    mxnet.onnx.export_model(symbol, params, shapes, np.float32, target)
    sys.stdout.flush()
    # Taking the interpreter down is slow in MXNet, and is not the conversion's work.
    os._exit(0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One conversion by mx2onnx, as a contestant for convert.py.")
    for word in ("symbol", "params", "feeds", "target"):
        parser.add_argument(word, metavar=word.upper())
    main(**vars(parser.parse_args()))
