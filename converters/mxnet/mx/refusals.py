"""What the facade does not do, stated by one error that names what does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any, NoReturn

from graphir.errors import GraphirError

INSTEAD = (
    "graphir.converters.mxnet.mx runs networks and does not train them: train with MXNet itself, or write the network "
    "as ONNX (mx.onnx.export_model, graphir convert) and train it elsewhere"
)


class TrainingError(GraphirError, NotImplementedError, AttributeError):
    """Something that only training needs was requested. Its text names what to use instead.

    It is an AttributeError too, so that `hasattr` answers no for what is not here.
    """


class NotHere(TrainingError):
    """Something of MXNet that is not here for another reason than training."""


def refuse_training(what: str, hint: str = "") -> NoReturn:
    """Raise TrainingError for `what`, a name as scripts write it; `hint` is what can be done instead."""
    raise TrainingError(f"{what} is not here: {hint + '; ' if hint else ''}{INSTEAD}")


def refused_method(what: str, hint: str = "") -> Callable[..., NoReturn]:
    """Return a method that only training needs: every call raises TrainingError."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        refuse_training(what, hint)

    refuse.__doc__ = f"Raise TrainingError: {what} only serves training."
    return refuse


class RefusedName(type):
    """The class of names that can be imported, derived from and used as decorators, and raise when they are called."""

    refusal: str
    hint: str
    error: type[TrainingError]

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise cls.error(cls.hint)

    def __getattr__(cls, name: str) -> Any:
        if name == "register":
            return lambda registered: registered
        if name.startswith("__"):
            raise AttributeError(f"{cls.refusal} has no attribute {name!r}")
        raise cls.error(cls.hint)


def refused_name(what: str, hint: str = "", *, training: bool = True) -> RefusedName:
    """Return a stand-in for a name: it can be imported and derived from; a call raises TrainingError with the hint."""
    text = f"{what} is not here: {'; '.join(part for part in (hint, INSTEAD if training else '') if part)}"
    attributes = {"refusal": what, "hint": text, "error": TrainingError if training else NotHere}
    return RefusedName(what.rpartition(".")[2], (), attributes)


class TrainingModule(ModuleType):
    """A module of MXNet that is not here. It can be imported, and so can the names that MXNet has in it.

    A call of one raises TrainingError, as does any other name.
    """

    def __init__(self, name: str, names: str, hint: str = "", training: bool = True) -> None:
        super().__init__(f"mx.{name}")
        self._names, self._hint, self._training = frozenset(names.split()), hint, training

    def __getattr__(self, name: str) -> Any:
        what = f"{self.__name__}.{name}"
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name == "register":
            return lambda registered: registered
        refusal = refused_name(what, self._hint, training=self._training)
        if name not in self._names:
            raise refusal.error(refusal.hint)
        setattr(self, name, refusal)
        return refusal

    def __dir__(self) -> list[str]:
        return sorted(self._names)


SCHEDULERS = "CosineScheduler FactorScheduler LRScheduler MultiFactorScheduler PolyScheduler"
OPTIMIZERS = (
    "AdaDelta AdaGrad Adam Adamax DCASGD FTML Ftrl LAMB LARS LBSGD NAG Nadam Optimizer RMSProp SGD SGLD Signum Test "
    "Updater create get_updater"
)
PROFILER = (
    "Counter Domain Event Frame Marker Task dump dump_profile dumps pause profiler_set_config profiler_set_state "
    "resume set_config set_kvstore_handle set_state"
)
NUMPY = "arrays with NumPy's functions are not here: mx.nd has MXNet's own, and asnumpy() gives NumPy's"
QUANTIZE = "`graphir quantize MODEL OUT --feeds FOLDER` makes an int8 network"
AMP = "`graphir convert --half` writes a float16 network"


MODULES: Mapping[str, tuple[Any, ...]] = {
    "contrib.amp": (
        "amp convert_bucketing_module convert_hybrid_block convert_model init init_trainer list_lp16_ops scale_loss "
        "list_fp32_ops list_conditional_fp32_ops list_widest_type_cast list_loss_output_functions unscale", AMP, False,
    ),
    "contrib.quantization": (
        "calib_graph combine_histogram quantize_graph quantize_model quantize_model_mkldnn quantize_net "
        "quantize_net_v2", QUANTIZE, False,
    ),
    "contrib.tensorboard": ("LogMetricsCallback",),
    "contrib.tensorrt": ("init_tensorrt_params", "onnxruntime's TensorRT provider runs what was converted", False),
    "contrib.text": ("embedding utils vocab", "read the vectors of words with NumPy", False),
    "executor_manager": ("DataParallelExecutorGroup DataParallelExecutorManager",),
    "gluon.contrib.data": ("IntervalSampler WikiText103 WikiText2",),
    "gluon.contrib.estimator": (
        "BatchBegin BatchEnd BatchProcessor CheckpointHandler EarlyStoppingHandler EpochBegin EpochEnd Estimator "
        "LoggingHandler MetricHandler StoppingHandler TrainBegin TrainEnd ValidationHandler",
    ),
    "kvstore": ("KVStore KVStoreBase KVStoreServer create",),
    "kvstore_server": ("KVStoreServer",),
    "lr_scheduler": (SCHEDULERS,),
    "module.executor_group": ("DataParallelExecutorGroup",),
    "notebook": ("callback",),
    "numpy": ("", NUMPY, False),
    "numpy_extension": ("", NUMPY, False),
    "optimizer": (OPTIMIZERS,),
    "optimizer.optimizer": (OPTIMIZERS,),
    "profiler": (PROFILER, "`graphir benchmark` measures a network by its operators", False),
    "rtc": ("CudaKernel CudaModule", "kernels that are compiled at run time need MXNet", False),
    "torch": ("", "functions of Lua's Torch are not here", False),
    "tvmop": ("", "kernels of TVM are not here", False),
}  # fmt: skip
"""MXNet's modules that are not here: their names, what can be done instead, and whether they serve training."""

ALIASES = {"kv": "kvstore", "np": "numpy", "npx": "numpy_extension", "opt": "optimizer", "th": "torch"}


@cache
def refused_module(path: str) -> TrainingModule:
    """Return a module of MXNet that is not here, by its path below `mx`."""
    return TrainingModule(path, *MODULES[path])
