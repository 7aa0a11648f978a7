"""MXNet's environment variables that change what an executor allocates."""

from __future__ import annotations

import os
from collections.abc import Mapping

from graphir.analysis.memory.blocks import MATCH_RANGE, Sharing
from graphir.converters.mxnet.memory.plan import Switches
from graphir.errors import ImportFailure

ELEMENT = 4
"""The bytes that MXNet takes every element to have."""


def from_environment(variables: Mapping[str, str] | None = None) -> Switches:
    """Return what MXNet would read: NNVM_EXEC_MATCH_RANGE and the others. Raises ImportFailure for what is no
    number."""
    given = os.environ if variables is None else variables

    def number(name: str, default: int) -> int:
        text = given.get(name, "")
        if not text:
            return default
        try:
            return int(text)
        except ValueError as error:
            raise ImportFailure(f"the environment variable {name} is {text!r}, expected a whole number") from error

    return Switches(
        do_mirror=number("MXNET_BACKWARD_DO_MIRROR", 0) != 0,
        sum_cap=number("MXNET_EXEC_INPLACE_GRAD_SUM_CAP", 8),
        merge_equal=number("MXNET_ELIMINATE_COMMON_EXPR", 1) != 0,
        sharing=Sharing(
            match_range=number("NNVM_EXEC_MATCH_RANGE", MATCH_RANGE),
            search_match_range=number("NNVM_AUTO_SEARCH_MATCH_RANGE", 0) != 0,
            colours=number("NNVM_EXEC_NUM_TEMP", 1),
            element_bytes=ELEMENT,
        ),
    )
