"""The script that records a golden capture in an old MXNet environment."""

from __future__ import annotations

from pathlib import Path


def script() -> str:
    """Return the text of the script: plain MXNet and numpy, for Python 2.7 and every later one."""
    text = Path(__file__).with_name("capture_script.py").read_text(encoding="ascii")
    return text[text.index('"""') :]
