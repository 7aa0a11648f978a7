"""The networks of golden/memonger.json, and what MXNet said of them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.files.records import NNVMGraph
from graphir.converters.mxnet.memory.plan import Planned
from graphir.converters.mxnet.memory.thresholds import STAGE, Walk
from tests.models.nets_memory import NETS, Shapes

INCEPTION = "inception_resnet_v2_b32"
NAMES = (*NETS, INCEPTION)


@functools.cache
def golden(folder: Path, file: str) -> Any:
    """What a golden file says."""
    return json.loads((folder / "golden" / file).read_text())


@functools.cache
def network(name: str, folder: Path, mxnet: ModuleType) -> tuple[NNVMGraph, Shapes]:
    """The symbol of a network and the shapes of its inputs."""
    if name == INCEPTION:
        graph = read_symbol(folder / "golden" / "irv2_apache_example_symbol.json")
        for node in graph.nodes:
            if node.name.startswith("_plus"):
                node.annotations[STAGE] = "True"
        shapes = golden(folder, "memonger.json")["nets"][name]["input_shapes"]
        return graph, {key: tuple(shape) for key, shape in shapes.items()}
    build, shapes = NETS[name]
    with mxnet.name.NameManager():
        return read_symbol(build(mxnet)), shapes


@functools.cache
def planned(name: str, folder: Path, mxnet: ModuleType) -> Planned:
    """The symbol with its sizes."""
    return Planned(*network(name, folder, mxnet))


def forced(model: Planned, threshold: int | None) -> frozenset[int]:
    """The nodes that memonger marks for a threshold; none without one."""
    if threshold is None:
        return frozenset()
    marks = Walk(model.graph, model.types).marks(threshold)
    return frozenset(number for number, is_forced in marks.forced.items() if is_forced)
