"""What tests need beyond the package. Where it is missing a test is skipped, with the reason; where the environment
promises it, the test fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

# What is needed, and the variables of the environment any of which promises it.
PROMISES = {
    "MXNet": ("CI", "GRAPHIR_REQUIRE_MXNET"),
    "TensorFlow": ("CI", "GRAPHIR_REQUIRE_TENSORFLOW"),
    "PyTorch": ("CI", "GRAPHIR_REQUIRE_TORCH"),
    "tf_keras": ("GRAPHIR_REQUIRE_TF_KERAS",),
    "old onnxruntime": ("GRAPHIR_REQUIRE_OLD_ONNXRUNTIME",),
    "onnx-ir": ("GRAPHIR_REQUIRE_ONNX_IR",),
    "shared": ("CI",),
    "browser": ("GRAPHIR_REQUIRE_BROWSER",),
}


def promise(need: str) -> str:
    """The variable of the environment that says that it has what is needed; empty if none does."""
    return next((variable for variable in PROMISES[need] if os.environ.get(variable)), "")


def missing(need: str, reason: object) -> NoReturn:
    """Skip, or fail where what is needed was promised. `need` is a key of PROMISES."""
    if variable := promise(need):
        pytest.fail(f"{variable} is set: {reason}")
    pytest.skip(str(reason))


@contextmanager
def needing(framework: str) -> Iterator[None]:
    """Around a call of the live framework, which raises ImportError where there is none."""
    try:
        yield
    except ImportError as error:
        missing(framework, f"live {framework} cannot be imported: {error}")


def shared_folder() -> Path | None:
    """The folder of real models and golden data beside the repository, None if there is none."""
    for parent in Path(__file__).resolve().parents:
        if (parent / "shared" / "models").is_dir():
            return parent / "shared"
    return None
