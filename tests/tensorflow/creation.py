"""Constants and inputs."""

from __future__ import annotations

import numpy as np

from tests.tensorflow.case import Case, case, data

CASES = (
    case("Const", "float32", value=np.arange(6, dtype=np.float32).reshape(2, 3), dtype="float32", open_axes=""),
    case("Const", "scalar", value=np.array(3, np.int64), dtype="int64", open_axes=""),
    case("PlaceholderWithDefault", "default", data(2, 3), shape=(None, 3)),
)
REFUSED: tuple[Case, ...] = ()
