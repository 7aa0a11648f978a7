"""Providers that packages of their own bring (`onnxruntime-ep-*`), for an onnxruntime that is built without them."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from graphir.structure.record import record

PREFIX = "onnxruntime_ep_"


@record
class Plugin:
    """A package of a provider: its module, the provider's name in onnxruntime, its devices here, and why if none."""

    module: str
    provider: str
    devices: tuple[Any, ...] = ()
    reason: str = ""


@cache
def installed_plugins() -> tuple[Plugin, ...]:
    """Return the plugins that are installed, each registered with onnxruntime once."""
    names = sorted(module.name for module in pkgutil.iter_modules() if module.name.startswith(PREFIX))
    return tuple(plugin for name in names for plugin in _register(name))


def _register(name: str) -> list[Plugin]:
    import onnxruntime

    try:
        module = import_module(name)
        providers = _provider_names(module)
        onnxruntime.register_execution_provider_library(name, module.get_library_path())
        devices = onnxruntime.get_ep_devices()
    except (ImportError, AttributeError, OSError, RuntimeError, onnxruntime.capi.onnxruntime_pybind11_state.Fail,
            onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument) as error:  # fmt: skip
        return [Plugin(name, name.removeprefix(PREFIX), reason=f"the plugin {name} does not load: {error}")]
    return [
        Plugin(name, provider, own_devices, "" if own_devices else f"the plugin {name} finds no device here")
        for provider in providers
        for own_devices in [tuple(device for device in devices if device.ep_name == provider)]
    ]


def _provider_names(module: ModuleType) -> list[str]:
    names: list[str] = module.get_ep_names() if hasattr(module, "get_ep_names") else [module.get_ep_name()]
    return names


def plugin_devices() -> dict[str, tuple[Any, ...]]:
    """Return the devices of each provider that a plugin brings and that has some, by onnxruntime's name."""
    return {plugin.provider: plugin.devices for plugin in installed_plugins() if plugin.devices}


def plugin_reasons() -> dict[str, str]:
    """Return why a plugin brings nothing, by onnxruntime's name of its provider."""
    return {plugin.provider: plugin.reason for plugin in installed_plugins() if plugin.reason}
