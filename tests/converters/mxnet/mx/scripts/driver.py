"""Run as a program: runs the scripts of a JSON file in turn and writes what each prints, under live MXNet or, with
`facade`, under graphir's."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np


def printed(name: str, source: str) -> str:
    import mxnet

    random.seed(1)
    np.random.seed(1)
    mxnet.random.seed(1)
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        try:
            exec(compile(source, name, "exec"), {"__name__": "__main__"})
        except Exception:
            return stream.getvalue() + traceback.format_exc()
        finally:
            with contextlib.suppress(Exception):  # an error of MXNet's own threads would show in the next script
                mxnet.nd.waitall()
    return stream.getvalue()


def main(scripts: str, out: str, facade: str = "") -> None:
    warnings.simplefilter("ignore")
    if facade:
        from graphir.converters.mxnet.mx.finder import install

        install()
    else:
        os.environ |= {"MXNET_SUBGRAPH_BACKEND": "NONE", "MXNET_USE_ONEDNN": "0", "MXNET_MKLDNN_ENABLED": "0"}
        for alias in (bool, object, int, float, complex, str):
            if alias.__name__ not in vars(np):
                setattr(np, alias.__name__, alias)
    rows = json.loads(Path(scripts).read_text())
    Path(out).write_text(json.dumps({name: printed(name, source) for name, source in rows.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
