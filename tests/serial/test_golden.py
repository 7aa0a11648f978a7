"""Files that an earlier graphir wrote: they load, mean the same, and are written again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from graphir.graph import Graph
from graphir.serial.equal import same_attribute, same_tensor
from graphir.serial.reader import load_graph
from graphir.serial.schema import schema
from graphir.serial.writer import save_graph

from .data.make_small import small

DATA = Path(__file__).with_name("data")
FILES = ("small.graphir.json", "small.graphir.safetensors")


def told(graph: Graph) -> list[object]:
    """What the builder says itself. Types of results are left out: rules may come to know more than they did then."""
    return [
        graph.name,
        graph.metadata,
        graph.decisions,
        [(value.name, value.type, value.sources) for value in (*graph.inputs, *graph.parameters)],
        [(node.name, type(node.op), [operand and operand.name for operand in node.inputs]) for node in graph.nodes],
        [[told(inner) for inner in node.subgraphs] for node in graph.nodes],
        [(value.name, value.graph.name) for value in graph.outputs],
    ]


def test_the_file_means_what_it_meant() -> None:
    found, meant = load_graph(DATA / FILES[0], check_hashes=True), small()
    assert told(found) == told(meant)
    pairs = zip(found.nodes, meant.nodes, strict=True)
    assert all(same_attribute(a.op.attributes(), b.op.attributes()) for a, b in pairs)
    tensors = [(a.tensor, b.tensor) for a, b in zip(found.parameters, meant.parameters, strict=True)]
    assert all(same_tensor(a, b) if a and b else a is b for a, b in tensors)


def test_the_file_satisfies_the_schema() -> None:
    Draft202012Validator(schema()).validate(json.loads((DATA / FILES[0]).read_bytes()))


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_written_again_byte_for_byte(tmp_path: Path, name: str) -> None:
    save_graph(load_graph(DATA / FILES[0]), tmp_path / FILES[0], hashes=True)
    assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()
