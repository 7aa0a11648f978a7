"""Make `import mxnet` mean this package, with every submodule: `import graphir.converters.mxnet.mx.install`.

`python -m graphir.mxnet script.py` does the same for a script that is not to be changed.
"""

from __future__ import annotations

from graphir.converters.mxnet.mx.finder import install

install()

__all__ = ["install"]
