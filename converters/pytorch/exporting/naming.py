"""Names of a model as Python identifiers: of layers and parameters, and of the values in `forward`."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from graphir.converters.pytorch.exporting.functions import function_names

# What a module has already, or needs for itself: attributes of torch.nn.Module, which assigning would replace.
OF_MODULES = frozenset((
    *("T_destination", "add_module", "apply", "bfloat16", "buffers", "call_super_init", "children", "compile", "cpu"),
    *("cuda", "double", "dump_patches", "eval", "extra_repr", "float", "forward", "get_buffer", "get_extra_state"),
    *("get_parameter", "get_submodule", "half", "ipu", "load_state_dict", "modules", "mtia", "named_buffers"),
    *("named_children", "named_modules", "named_parameters", "parameters", "register_backward_hook"),
    *("register_buffer", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"),
    *("register_full_backward_pre_hook", "register_load_state_dict_post_hook", "register_load_state_dict_pre_hook"),
    *("register_module", "register_parameter", "register_state_dict_post_hook", "register_state_dict_pre_hook"),
    *("requires_grad_", "set_extra_state", "set_submodule", "share_memory", "state_dict", "to", "to_empty", "train"),
    *("training", "type", "xpu", "zero_grad", "self"),
))  # fmt: skip
# What the file's own statements call by these names.
OF_FILE = frozenset((
    *dir(builtins), "F", "Net", "Path", "Tensor", "WEIGHTS", "load", "load_file", "math", "nn", "self", "torch",
    *function_names(),
))  # fmt: skip
LONGEST = 60
OTHERS = re.compile(r"[^0-9A-Za-z]+")
SEPARATORS = re.compile(r"[/.:]")


@lru_cache(1 << 16)
def identifier(name: str, longest: int = LONGEST) -> str:
    """Return a name as an identifier, "" where nothing of it can be used.

    >>> identifier("layer1/conv-2"), identifier("2nd"), identifier("class")
    ('layer1_conv_2', 'n2nd', 'class_')
    """
    text = OTHERS.sub("_", name).strip("_")
    if len(text) > longest:  # its last words
        text = text[-longest:]
        text = (text.partition("_")[2] or text).strip("_")
    if text[:1].isdigit():
        text = f"n{text}"
    return f"{text}_" if keyword.iskeyword(text) or keyword.issoftkeyword(text) else text


class Identifiers:
    """Identifiers that are given out once each."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)
        self._next: dict[str, int] = {}

    def take(self, wanted: str, otherwise: str = "value") -> str:
        """Return an identifier like this name, with a number behind it where another one has it."""
        text = identifier(wanted) or otherwise
        if text not in self._taken:
            self._taken.add(text)
            return text
        number = self._next.get(text, 2)
        while f"{text}_{number}" in self._taken:
            number += 1
        self._next[text] = number + 1
        self._taken.add(f"{text}_{number}")
        return f"{text}_{number}"


def common_length(names: Collection[str]) -> int:
    """Return how many characters all names have in common at their beginning."""
    first, last = min(names, default=""), max(names, default="")
    return next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))


def common_scope(attributes: Sequence[str]) -> str:
    """Return the scope that attributes have in common, with what separates it from the rest."""
    return attributes[0][: attributes[0].rfind("_", 0, common_length(attributes)) + 1] if len(attributes) > 1 else ""


def without_common_scope(names: Iterable[str]) -> dict[str, str]:
    """Return each name without the scope that all of them have in front.

    >>> list(without_common_scope(["net/a/x", "net/a/y"]).values()), list(without_common_scope(["r_a", "r_b"]).values())
    (['x', 'y'], ['a', 'b'])
    """
    given = list(dict.fromkeys(names))
    common = given[0][: common_length(given)] if len(given) > 1 else ""
    cut = max((common.rfind(mark) for mark in "/.:_"), default=-1) + 1
    return {name: name[cut:] or name for name in given}
