"""`mx.sym.np` and `mx.sym.npx` compose what live MXNet composes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx

EXPRESSIONS = """
x + y
1 + x
2 - x
3 * x
x * 2.5
x / 3
1.5 / x
x % y
2 % x
x ** 2
2 ** x
-x
x == 1
2 > x
x <= y
x[1]
x[1:3]
x[:3:2]
x[1, -2]
x[:, 0]
x[2, 1:5:2]
x.reshape(2, 3)
x.astype("float16")
np.add(x, 1)
np.subtract(1, x)
np.maximum(2, x)
np.minimum(x, 2)
np.exp(x)
np.dot(x, y)
np.where(x, x, y)
np.reshape(x, (2, 3))
np.transpose(x)
np.expand_dims(x, 0)
np.squeeze(x)
np.concatenate([x, y], axis=1)
np.stack([x, y])
np.vstack([x, y])
np.einsum("ij,jk", x, y)
np.split(x, 2)
np.split(x, (2, 3), axis=1)
np.zeros((2, 3))
np.ones((2,), dtype="int32")
np.full((2,), 3)
np.ones_like(x)
np.arange(3)
np.arange(1, 5, 2)
npx.relu(x)
npx.softmax(x, axis=1)
npx.fully_connected(x, y, num_hidden=3, no_bias=True)
npx.batch_norm(x)
""".strip().splitlines()


def text(library: Any, expression: str) -> str:
    x, y = (library.sym.var(name).as_np_ndarray() for name in "xy")
    with library.name.NameManager():
        made = eval(expression, {"x": x, "y": y, "np": library.sym.np, "npx": library.sym.npx})
    return str((library.sym.Group(made) if isinstance(made, list) else made).tojson())


@pytest.mark.live
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_composes_as_live_mxnet(expression: str, mxnet: ModuleType) -> None:
    assert text(mx, expression) == text(mxnet, expression)


@pytest.mark.parametrize(
    ("expression", "error"),
    [("x[0.5]", IndexError), ("x[::0]", ValueError), ("len(x)", TypeError), ("np.no_such(x)", AttributeError)],
)
def test_refused(expression: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        text(mx, expression)
