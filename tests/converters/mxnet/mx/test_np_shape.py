"""Numpy's shapes by MXNet's names: the scope, the switch and the decorator."""

from __future__ import annotations

from typing import Any

import pytest

from graphir.converters.mxnet import mx


def open_shapes() -> Any:
    return mx.sym.sin(mx.sym.var("data")).infer_shape_partial()[:2]


def test_scope_and_switch_are_at_the_top() -> None:
    assert open_shapes() == ([()], [()])
    with mx.np_shape():
        assert mx.is_np_shape()
        assert open_shapes() == ([None], [None])
        with mx.np_shape(False):
            assert not mx.is_np_shape()
    assert not mx.set_np_shape(True)
    assert mx.set_np_shape(False)
    assert not mx.is_np_shape()


def test_decorated_functions_run_with_numpys_shapes() -> None:
    assert mx.use_np_shape(open_shapes)() == ([None], [None])
    assert mx.use_np_shape(open_shapes).__name__ == "open_shapes"
    assert not mx.is_np_shape()


def test_decorated_classes_have_scoped_methods_and_properties() -> None:
    @mx.use_np_shape
    class Asked:
        held = True

        def __init__(self) -> None:
            self.made = mx.is_np_shape()

        @property
        def read(self) -> bool:
            """Doc."""
            return bool(mx.is_np_shape())

        @read.setter
        def read(self, _: bool) -> None:
            self.made = not mx.is_np_shape()

        @classmethod
        def of_class(cls) -> bool:
            return cls.held and bool(mx.is_np_shape())

    asked = Asked()
    assert asked.made
    assert asked.read
    assert Asked.of_class()
    asked.read = True
    assert not asked.made
    assert Asked.read.__doc__ == "Doc."
    assert not mx.is_np_shape()


def test_what_can_not_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="functions and classes"):
        mx.use_np_shape(3)
