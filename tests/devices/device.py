"""The device that tests marked `gpu` run on, and what to say if there is none.

GRAPHIR_PROVIDER names it, as --provider does: `cuda` (the default), `webgpu`, `openvino`. `tools/device_tests.py`
makes an environment for one that the tests' own onnxruntime lacks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
import pytest

from graphir.converters.session import Session
from graphir.errors import GraphirError
from graphir.graph import Graph
from graphir.ops.linear import MatMul
from graphir.runtime.providers import Provider, parse_provider
from graphir.structure.record import record
from graphir.types import DType, TensorType

REQUIRE = "GRAPHIR_REQUIRE_GPU"
PROVIDER = os.environ.get("GRAPHIR_PROVIDER", "cuda")
ROW: Provider = parse_provider(PROVIDER)[0]


@record
class Facts:
    """What tests know of a provider: onnxruntime's name of its memory, the bytes of a tensor that its device has no
    room for (0: none is known), and how many times further off than on the CPU results may be."""

    memory: str
    too_large: int = 0
    times: float = 10.0


# A device adds products in another order and by other algorithms than the CPU, for which the tolerances were measured.
FACTS: Mapping[str, Facts] = MappingProxyType({
    "cuda": Facts("Cuda"),
    "webgpu": Facts("WebGPU_Buf", 1 << 30),
    "openvino": Facts("Cpu"),
})  # fmt: skip


@cache
def missing() -> str:
    """Why the device does not run, "" if it does."""
    graph = Graph("product")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 2)))
    graph.set_outputs([graph.add(MatMul(), x, x)])
    try:
        Session(graph, providers=PROVIDER).run({"x": np.ones((2, 2), np.float32)})
    except GraphirError as error:
        return str(error).splitlines()[0]
    return ""


def need_device() -> None:
    """Skip the test that asks, or with GRAPHIR_REQUIRE_GPU=1 fail it, where the device does not run."""
    reason = missing()
    if reason and os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{REQUIRE}=1, but {reason}")
    if reason:
        pytest.skip(f"{reason}; nothing was run on {PROVIDER} ({REQUIRE}=1 makes this a failure)")


def is_requested(expression: str) -> bool:
    """Whether pytest's `-m` selects what is marked `gpu`.

    >>> is_requested("gpu"), is_requested("gpu and not slow"), is_requested("not gpu"), is_requested("")
    (True, True, False, False)
    """
    words = expression.replace("(", " ").replace(")", " ").split()
    return any(word == "gpu" and words[max(place - 1, 0)] != "not" for place, word in enumerate(words))


__all__ = ["FACTS", "PROVIDER", "REQUIRE", "ROW", "Facts", "is_requested", "missing", "need_device"]
