"""Numbers of bytes, as people write them."""

from __future__ import annotations

import argparse
import re

UNITS = {"": 0, "K": 10, "M": 20, "G": 30}


def size(text: str) -> int:
    """Read a number of bytes: `512MB`, `1.5GB`, `1000`; K, M and G are powers of 2**10. Raises ArgumentTypeError."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([KMG]?)(?:I?B)?", text.strip().upper(), re.ASCII)
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write a number with a unit, as in 512MB or 1.5GB")
    return int(float(match[1]) * (1 << UNITS[match[2]]))
