"""`mx.registry`: classes by name, for those that scripts register and create."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_REGISTRIES: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """Return a copy of the classes below a base, by name."""
    return dict(_REGISTRIES.get(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable[..., type]:
    """Return a function that registers a class under a name, by default its own in lower case."""
    registry = _REGISTRIES.setdefault(base_class, {})

    def register(klass: type, name: str | None = None) -> type:
        if not issubclass(klass, base_class):
            raise AssertionError(f"Can only register subclass of {base_class.__name__}")
        registry[(name or klass.__name__).lower()] = klass
        return klass

    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return a decorator that registers a class under several names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[type], type]:
        def registered(klass: type) -> type:
            for name in aliases:
                register(klass, name)
            return klass

        return registered

    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return a function that makes an object of a registered name, or of its JSON."""
    registry = _REGISTRIES.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        name, *rest = args if args else (kwargs.pop(nickname),)
        if isinstance(name, base_class):
            return name
        if isinstance(name, dict):
            return create(**name)
        if name.startswith("["):
            name, options = json.loads(name)
            kwargs = {**options, **kwargs}
        elif name.startswith("{"):
            return create(**json.loads(name))
        if name.lower() not in registry:
            raise AssertionError(f"{name} is not registered. Please register with {nickname}.register first")
        return registry[name.lower()](*rest, **kwargs)

    return create


__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]
