"""`mx.runtime`: what MXNet was built with, of which only the parts that are here are enabled."""

from __future__ import annotations

from importlib.util import find_spec

from graphir.converters.mxnet.mx.context import num_gpus

NAMES = (
    "CUDA CUDNN NCCL CUDA_RTC TENSORRT CPU_SSE CPU_SSE2 CPU_SSE3 CPU_SSE4_1 CPU_SSE4_2 CPU_SSE4A CPU_AVX CPU_AVX2 "
    "OPENMP SSE F16C JEMALLOC BLAS_OPEN BLAS_ATLAS BLAS_MKL BLAS_APPLE LAPACK MKLDNN OPENCV CAFFE PROFILER "
    "DIST_KVSTORE CXX14 INT64_TENSOR_SIZE SIGNAL_HANDLER DEBUG TVM_OP"
)
ENABLED = frozenset(("LAPACK", "INT64_TENSOR_SIZE"))


class Feature:
    """A feature of the library, with its `name` and whether it is `enabled`."""

    def __init__(self, name: str, enabled: bool) -> None:
        self.name, self.enabled = name, enabled

    def __repr__(self) -> str:
        return f"{chr(0x2714 if self.enabled else 0x2716)} {self.name}"


def feature_list() -> list[Feature]:
    """Return all features. CUDA is enabled if onnxruntime can use a GPU, and OPENCV if images can be read."""
    present = {*ENABLED, *(("CUDA",) if num_gpus() else ()), *(("OPENCV",) if find_spec("PIL") else ())}
    return [Feature(name, name in present) for name in NAMES.split()]


class Features(dict[str, Feature]):
    """The features by name."""

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in feature_list())

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Return whether a feature is there. Raises RuntimeError for a name that MXNet does not have."""
        if feature_name.upper() not in self:
            raise RuntimeError(f"Feature '{feature_name}' is unknown, known features are: {list(self)}")
        return self[feature_name.upper()].enabled


__all__ = ["Feature", "Features", "feature_list"]
