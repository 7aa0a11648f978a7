"""`mx.log`: a logger whose lines begin with the level and the time."""

from __future__ import annotations

import logging
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """Return the logger of a name, which writes to a file or to the standard error."""
    logger = logging.getLogger(name)
    if name is not None and not logger.handlers:
        handler = logging.FileHandler(filename, filemode or "a") if filename else logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname).1s%(asctime)s %(process)d %(message)s", "%m%d %H:%M:%S"))
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


getLogger = get_logger

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]
