"""Variables keep their names, whatever the import calls what it puts between them."""

from __future__ import annotations

import json

import pytest

from graphir.converters.mxnet import from_symbol


@pytest.mark.parametrize("name", ["f_flatten", "f_output", "c_const", "c_const_1", "c_output", "z"])
def test_a_variable_keeps_its_name(name: str) -> None:
    rows: list[dict[str, object]] = [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "null", "name": "w", "inputs": []},
        {"op": "FullyConnected", "name": "f", "inputs": [[0, 0, 0], [1, 0, 0]],
         "attrs": {"num_hidden": "3", "no_bias": "True"}},
        {"op": "clip", "name": "c", "inputs": [[2, 0, 0]], "attrs": {"a_min": "0.5", "a_max": "1"}},
        {"op": "null", "name": name, "inputs": []},
        {"op": "broadcast_add", "name": "z", "inputs": [[3, 0, 0], [4, 0, 0]]},
    ]
    symbol = {"nodes": rows, "arg_nodes": [0, 1, 4], "heads": [[5, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}
    graph = from_symbol(json.dumps(symbol), None, {"data": (2, 3, 4), name: (2, 3)})
    assert [value.name for value in graph.inputs] == ["data", name]
    assert [value.name for value in graph.outputs] == ["z_output"]
