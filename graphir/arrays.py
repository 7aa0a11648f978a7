"""The type of arrays of numpy whose elements may be any."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
