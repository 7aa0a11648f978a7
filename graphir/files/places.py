"""Which files belong to a model: those in its folder, links followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from graphir.errors import FormatError


def beside(model: str | os.PathLike[str], place: str | os.PathLike[str], what: str) -> Path:
    """The file behind a place that goes with a model's file, all links followed; `what` names it in errors.

    It must lie in the folder of the model's path or in the folder that the model's own file lies in, so that a cache
    whose folder of names links into a folder of contents works. Whether it exists is left to who opens it. Raises
    FormatError for a link that leads out of both, and for what is no file.
    """
    given = Path(os.path.abspath(model))
    folders = {Path(os.path.realpath(given.parent)), Path(os.path.realpath(given)).parent}
    found = Path(os.path.realpath(place))
    if not any(found.is_relative_to(folder) for folder in folders):
        shown = " and ".join(str(folder) for folder in sorted(folders))
        raise FormatError(f"{what} is a link to {found}, outside {shown}", path=model)
    try:
        mode = os.stat(found).st_mode
    except OSError:
        return found
    if not stat.S_ISREG(mode):
        raise FormatError(f"{what} is no file: {found}", path=model)
    return found


__all__ = ["beside"]
