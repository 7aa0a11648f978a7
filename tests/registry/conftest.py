"""The plugin of hazards as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from .zoo import HAZARDS


@pytest.fixture(scope="session")
def hazards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin whose operators do harm."""
    path = tmp_path_factory.mktemp("plugin") / "hazards.py"
    path.write_text(HAZARDS)
    return path
