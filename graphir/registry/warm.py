"""What a worker needs for its first model, imported before it is forked; nothing else is done here."""

from __future__ import annotations

import graphir.conversion
import graphir.converters.mxnet
import graphir.converters.mxnet.exporting
import graphir.converters.onnx
import graphir.converters.onnx.exporting.exporter
import graphir.converters.tensorflow
import graphir.passes.pipelines
import graphir.registry.opened
import graphir.registry.work
import graphir.report.html
import graphir.verification.models  # noqa: F401
