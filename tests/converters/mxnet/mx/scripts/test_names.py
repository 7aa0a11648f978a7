"""Names that prediction scripts use, and those of live MXNet's modules: each is here, or refused with a reason."""

# ruff: noqa: E501 - a table of names
from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx as ours
from graphir.converters.mxnet.mx.refusals import MODULES, RefusedName, TrainingError, TrainingModule, refused_module

NEEDED = {
    "": "cpu gpu Context current_context num_gpus AttrScope MXNetError nd sym gluon mod model io image img recordio "
        "metric init initializer operator random name attribute base context test_utils runtime libinfo util viz "
        "visualization autograd contrib callback optimizer lr_scheduler kv kvstore monitor mon rnn engine log registry "
        "profiler rtc np npx executor __version__",
    "base": "MXNetError string_types numeric_types integer_types mx_real_t py_str c_str data_dir _Null",
    "nd": "NDArray array zeros ones full empty arange eye concat concatenate stack split save load waitall softmax "
          "argmax topk expand_dims transpose random contrib image linalg sparse op _internal Custom imdecode moveaxis",
    "nd.contrib": "isnan isinf isfinite box_nms box_iou MultiBoxPrior ROIAlign foreach while_loop cond",
    "sym": "Symbol Variable var Group load load_json contrib random linalg zeros ones arange",
    "model": "load_checkpoint save_checkpoint load_params FeedForward BatchEndParam",
    "mod": "Module BucketingModule SequentialModule BaseModule",
    "io": "DataBatch DataDesc DataIter NDArrayIter ImageRecordIter MNISTIter CSVIter ResizeIter PrefetchingIter",
    "image": "imread imdecode imresize resize_short center_crop fixed_crop random_crop random_size_crop color_normalize "
             "copyMakeBorder scale_down ImageIter ImageDetIter Augmenter CreateAugmenter CreateDetAugmenter ResizeAug "
             "ForceResizeAug CenterCropAug RandomCropAug HorizontalFlipAug CastAug ColorNormalizeAug SequentialAug "
             "BrightnessJitterAug ColorJitterAug HueJitterAug LightingAug RandomOrderAug RandomSizedCropAug imrotate",
    "recordio": "MXRecordIO MXIndexedRecordIO IRHeader pack unpack pack_img unpack_img",
    "gluon": "Block HybridBlock SymbolBlock Parameter ParameterDict Constant Trainer nn rnn data loss utils model_zoo "
             "contrib block parameter",
    "gluon.block": "Block HybridBlock SymbolBlock",
    "gluon.parameter": "Parameter ParameterDict Constant DeferredInitializationError tensor_types",
    "gluon.nn": "basic_layers conv_layers Dense Dropout BatchNorm HybridLambda",
    "gluon.rnn": "rnn_cell rnn_layer LSTM LSTMCell",
    "gluon.utils": "split_data split_and_load download check_sha1",
    "gluon.data": "Dataset ArrayDataset SimpleDataset RecordFileDataset DataLoader Sampler SequentialSampler "
                  "RandomSampler BatchSampler FilterSampler vision dataset dataloader sampler",
    "gluon.data.vision": "MNIST FashionMNIST CIFAR10 CIFAR100 ImageFolderDataset ImageRecordDataset transforms datasets",
    "gluon.data.vision.transforms": "Compose Cast ToTensor Normalize Resize CenterCrop CropResize RandomResizedCrop "
                                    "RandomFlipLeftRight RandomFlipTopBottom RandomColorJitter RandomLighting",
    "gluon.loss": "Loss L1Loss L2Loss SoftmaxCrossEntropyLoss SoftmaxCELoss SigmoidBCELoss HuberLoss HingeLoss CTCLoss",
    "gluon.contrib": "nn rnn cnn data estimator",
    "gluon.contrib.nn": "Concurrent HybridConcurrent Identity SyncBatchNorm SparseEmbedding PixelShuffle2D",
    "gluon.model_zoo": "vision model_store",
    "gluon.model_zoo.vision": "get_model resnet18_v1 resnet50_v2 vgg16 vgg16_bn alexnet densenet121 squeezenet1_1 "
                              "inception_v3 mobilenet1_0 mobilenet_v2_1_0 get_resnet get_vgg get_mobilenet",
    "operator": "CustomOp CustomOpProp register NumpyOp NDArrayOp",
    "contrib": "onnx amp quantization text io nd sym ndarray symbol autograd tensorboard",
    "contrib.amp": "init init_trainer scale_loss convert_model convert_hybrid_block",
    "contrib.quantization": "quantize_model quantize_net quantize_graph calib_graph",
    "metric": "EvalMetric Accuracy TopKAccuracy F1 MCC MAE MSE RMSE CrossEntropy Perplexity Loss CompositeEvalMetric "
              "PearsonCorrelation NegativeLogLikelihood CustomMetric create register np check_label_shapes",
    "test_utils": "assert_almost_equal almost_equal same rand_ndarray rand_shape_2d rand_shape_nd default_context "
                  "set_default_context check_numeric_gradient check_consistency download get_mnist list_gpus "
                  "simple_forward",
    "callback": "Speedometer ProgressBar do_checkpoint module_checkpoint log_train_metric LogValidationMetricsCallback",
    "optimizer": "Optimizer SGD Adam RMSProp create register Updater get_updater",
    "lr_scheduler": "LRScheduler FactorScheduler MultiFactorScheduler PolyScheduler CosineScheduler",
    "autograd": "record pause train_mode predict_mode is_training is_recording backward grad Function set_training",
    "runtime": "Features Feature feature_list",
    "util": "is_np_array is_np_shape np_shape use_np set_np reset_np getenv setenv",
    "libinfo": "__version__ find_lib_path find_include_path",
    "random": "seed uniform normal randint",
    "init": "Initializer Xavier Normal Uniform Zero One Constant MSRAPrelu Mixed Load InitDesc Bilinear Orthogonal",
}  # fmt: skip


def module(root: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        root = getattr(root, part)
    return root


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in NEEDED.items() for name in names.split()])
def test_a_needed_name_is_here_or_refused_with_a_reason(path: str, name: str) -> None:
    try:
        value = getattr(module(ours, path), name)
    except TrainingError as error:
        value = error
    if isinstance(value, RefusedName):
        with pytest.raises(TrainingError, match=r"is not here: .{20,}"):
            value()
    elif isinstance(value, TrainingError):
        assert len(str(value).partition("is not here: ")[2]) >= 20
    assert value is not None


@pytest.mark.parametrize("path", MODULES)
def test_names_of_a_refused_module_raise_when_they_are_called(path: str) -> None:
    held = refused_module(path)
    for name in set(dir(held)) - {"register"}:
        value = getattr(held, name)
        with pytest.raises(TrainingError, match=r"is not here: .{20,}"):
            value()


MODULES_OF_PREDICTION = (
    "nd sym gluon gluon.nn gluon.rnn gluon.data gluon.data.vision gluon.data.vision.transforms gluon.loss "
    "gluon.contrib.nn gluon.model_zoo.vision image io recordio test_utils metric init random nd.contrib nd.random "
    "nd.linalg nd.image sym.contrib runtime callback"
)


@pytest.mark.live
def test_live_names_are_here(mxnet: ModuleType) -> None:
    """Of what is defined in MXNet's modules for users: at most one of 20 is neither here nor refused."""
    missing, total = [], 0
    for path in MODULES_OF_PREDICTION.split():
        live, facade = module(mxnet, path), module(ours, path)
        for name, value in vars(live).items():
            is_own = getattr(value, "__module__", "") == live.__name__ or name in getattr(live, "__all__", ())
            if name.startswith(("_", "backward")) or name.endswith("_update") or not is_own:
                continue
            total += 1
            try:
                getattr(facade, name)
            except TrainingError:
                continue
            except AttributeError:
                missing.append(f"{path}.{name}")
    assert total > 300
    assert len(missing) <= total / 20, missing


def test_a_module_that_trains_is_one_of_a_kind() -> None:
    assert isinstance(ours.optimizer, TrainingModule)
    assert ours.kv is ours.kvstore
