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

# What is needed, and the variable of the environment that promises it.
PROMISES = {
    "MXNet": "GRAPHIR_REQUIRE_MXNET",
    "TensorFlow": "GRAPHIR_REQUIRE_TENSORFLOW",
    "tf_keras": "GRAPHIR_REQUIRE_TF_KERAS",
    "old onnxruntime": "GRAPHIR_REQUIRE_OLD_ONNXRUNTIME",
    "shared": "CI",
}


def is_promised(need: str) -> bool:
    """Whether the environment says that it has what is needed."""
    return bool(os.environ.get(PROMISES[need]))


def missing(need: str, reason: object) -> NoReturn:
    """Skip, or fail where what is needed was promised. `need` is a key of PROMISES."""
    if is_promised(need):
        pytest.fail(f"{PROMISES[need]} is set: {reason}")
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
