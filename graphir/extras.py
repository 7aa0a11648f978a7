"""What graphir can do without, and how to get it: the extras of pyproject.toml, and the one text that names them.

The text names libraries that every index has, so that it holds however graphir itself was installed: from a clone, from
a wheel, by pipx. docs/install.md says how extras are asked for when graphir is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# By extra, the requirements that pyproject.toml states for it.
EXTRAS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "cpu": ("onnxruntime>=1.23",),
    "gpu": ("onnxruntime-gpu[cuda,cudnn]>=1.23",),
    "keras": ("h5py>=3.10",),
    "memory": ("scipy>=1.11",),
    "dask": ("distributed>=2024.8", "fsspec>=2024.6"),
    "images": ("pillow>=10",),
    "quantization": ("onnx-ir>=0.1.10",),
})  # fmt: skip
# What graphir installs by default and does without where it is missing.
DRAWING = ("fast-sugiyama>=0.5.3,<1", "resvg-py>=0.5")


def install_hint(extra: str) -> str:
    """Return how to get what an extra holds, as the end of a sentence that says what is missing.

    >>> install_hint("images")
    "pip install 'pillow>=10' (graphir's extra `images`)"

    Raises KeyError for an extra that there is not.
    """
    wanted = " ".join(f"'{requirement}'" for requirement in EXTRAS[extra])
    return f"pip install {wanted} (graphir's extra `{extra}`)"
