"""Which files belong to a model: those in its folder, links followed; and what is said of a place without any."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from graphir.errors import FormatError

# The scheme of an address; `Path` has made one slash of two.
ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+")


def describe_missing(path: str | os.PathLike[str], wanted: str = "no such file") -> str:
    """Return what to say of a place where nothing is; of an address, that it is one.

    >>> describe_missing("model.onnx"), describe_missing(Path("https://a.org/m.onnx"))
    ('model.onnx: no such file', 'https://a.org/m.onnx: graphir reads files, not addresses; download it first')
    """
    address = ADDRESS.match(os.fspath(path))
    if address is None:
        return f"{os.fspath(path)}: {wanted}"
    rest = os.fspath(path)[address.end() :]
    return f"{address[1]}://{rest}: graphir reads files, not addresses; download it first"


def resolve_beside(model: str | os.PathLike[str], path: str | os.PathLike[str], what: str) -> Path:
    """Return the file behind a place that goes with a model's file, all links followed; `what` names it in errors.

    It must lie in the folder of the model's path or in the folder that the model's own file lies in, so that a cache
    whose folder of names links into a folder of contents works. Whether it exists is left to who opens it. Raises
    FormatError for a link that leads out of both, and for what is no file.
    """
    given = Path(os.path.abspath(model))
    folders = {Path(os.path.realpath(given.parent)), Path(os.path.realpath(given)).parent}
    real_path = Path(os.path.realpath(path))
    if not any(real_path.is_relative_to(folder) for folder in folders):
        shown = " and ".join(str(folder) for folder in sorted(folders))
        raise FormatError(f"{what} is a link to {real_path}, outside {shown}", path=model)
    try:
        mode = os.stat(real_path).st_mode
    except OSError:
        return real_path
    if not stat.S_ISREG(mode):
        raise FormatError(f"{what} is no file: {real_path}", path=model)
    return real_path
