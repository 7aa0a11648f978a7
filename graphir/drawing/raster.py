"""An SVG in pixels, by the library resvg-py."""

from __future__ import annotations

import re

from .layout import need

MOST_PIXELS = 16_000
MOST_AREA = 64_000_000
SHARP = 2.0
_SIZE = re.compile(r'width="([0-9.]+)" height="([0-9.]+)"')


def png_of(svg: str) -> bytes:
    """Return the picture, on white, at twice its size as long as it has no more than 64 million pixels.

    Raises PlotExtraMissing where resvg-py is not installed.
    """
    renderer = need("resvg_py", "a .png")
    match = _SIZE.search(svg)
    assert match is not None
    width, height = float(match[1]), float(match[2])
    sharp = min(SHARP, MOST_PIXELS / max(width, height), (MOST_AREA / (width * height)) ** 0.5)
    image: bytes = bytes(renderer.svg_to_bytes(svg_string=svg, background="white", width=max(1, round(width * sharp))))
    return image
