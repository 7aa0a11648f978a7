"""A graph in float16 or bfloat16, with the layers that stay float32 chosen by range."""

from .convert import HALF, HalfOptions, to_half
from .numbers import Form, form_of

__all__ = ["HALF", "Form", "HalfOptions", "form_of", "to_half"]
