"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import ModuleType

import hypothesis
import numpy as np
import pytest

# A slow machine is no defect: examples have no time limit of their own. CI draws the same ones each time.
hypothesis.settings.register_profile("graphir", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("graphir")


def _shared_folder() -> Path | None:
    for parent in Path(__file__).resolve().parents:
        if (parent / "shared" / "models").is_dir():
            return parent / "shared"
    return None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real models and golden data, which is kept beside the repository."""
    folder = _shared_folder()
    if folder is not None:
        return folder
    reason = "no folder `shared` with models beside the repository"
    if "CI" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def mxnet() -> ModuleType:
    """Live MXNet 1.9.1 with its plain operators."""
    os.environ |= {"MXNET_SUBGRAPH_BACKEND": "NONE", "MXNET_USE_ONEDNN": "0", "MXNET_MKLDNN_ENABLED": "0"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alias in (bool, object, int, float, complex, str):
            if alias.__name__ not in vars(np):
                setattr(np, alias.__name__, alias)
        try:
            import mxnet
        except (ImportError, AttributeError, OSError) as error:
            reason = f"live MXNet cannot be imported: {error}"
            if "GRAPHIR_REQUIRE_MXNET" in os.environ:
                pytest.fail(reason)
            pytest.skip(reason)
    return mxnet
