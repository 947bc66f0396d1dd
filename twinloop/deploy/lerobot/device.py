"""Creates lerobot robots and teleoperators from name and config. No other module imports lerobot."""

import importlib
import pkgutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from twinloop.deploy.lerobot.config_file import DeviceConfig
from twinloop.errors import ConfigError, UsageError, nearest

ROBOT = ("connect", "is_connected", "is_calibrated", "observation_features", "action_features", "get_observation",
         "send_action", "disconnect")  # fmt: skip
TELEOPERATOR = ("connect", "is_connected", "action_features", "get_action", "disconnect")


class Device(Protocol):
    """The common interface of lerobot's robots and teleoperators."""

    @property
    def is_connected(self) -> bool: ...

    @property
    def action_features(self) -> Mapping[str, Any]: ...

    def connect(self, calibrate: bool = True) -> None: ...

    def disconnect(self) -> None: ...


class RobotDevice(Device, Protocol):
    """The part of lerobot 0.4's `Robot` that is used here."""

    @property
    def is_calibrated(self) -> bool: ...

    @property
    def observation_features(self) -> Mapping[str, Any]: ...

    def get_observation(self) -> Mapping[str, Any]: ...

    def send_action(self, action: dict[str, Any]) -> Mapping[str, Any]: ...


class TeleoperatorDevice(Device, Protocol):
    """The part of lerobot 0.4's `Teleoperator` that is used here."""

    def get_action(self) -> Mapping[str, Any]: ...


def make_robot(config: DeviceConfig) -> RobotDevice:
    """Create a robot without connecting to it."""
    return _make(config, "robots", "RobotConfig", "make_robot_from_config", ROBOT)


def make_teleoperator(config: DeviceConfig) -> TeleoperatorDevice:
    return _make(config, "teleoperators", "TeleoperatorConfig", "make_teleoperator_from_config", TELEOPERATOR)


def _make(config: DeviceConfig, room: str, base: str, maker: str, interface: tuple[str, ...]) -> Any:
    if ":" in config.type:
        return _of_class(config, interface)
    package = _lerobot(room)
    kinds = getattr(importlib.import_module(f"{package.__name__}.config"), base)
    _register(package, kinds, config.type)
    if config.type not in kinds.get_known_choices():
        known = nearest(config.type, kinds.get_known_choices())
        raise ConfigError(config.where, f"type {config.type!r}: lerobot has no such device; {known}")
    _register(_lerobot("cameras"))
    decode = importlib.import_module("draccus").decode  # lerobot's own config parser
    try:
        parsed = decode(kinds.get_choice_class(config.type), dict(config.config))
        return getattr(importlib.import_module(f"{package.__name__}.utils"), maker)(parsed)
    except ImportError as error:
        raise UsageError(f"{config.where}: {config.type} needs a package that is not installed: {error}") from None
    except Exception as error:  # drivers raise arbitrary exceptions for a wrong config
        raise ConfigError(config.where, f"lerobot rejects the config: {error}") from None


def _of_class(config: DeviceConfig, interface: tuple[str, ...]) -> Any:
    """Create an object of `module:Class` with the config as keyword arguments, after a check of its interface."""
    kind = imported(config.type, config.where)
    missing = [method for method in interface if not hasattr(kind, method)]
    if not isinstance(kind, type) or missing:
        problem = f"has no {', '.join(missing)}" if isinstance(kind, type) else "is not a class"
        raise ConfigError(
            config.where, f"type {config.type!r}: {problem}; a class with lerobot's interface was expected"
        )
    try:
        return kind(**config.config)
    except (TypeError, ValueError) as error:
        raise ConfigError(config.where, f"{config.type} rejects the config: {error}") from None


def imported(name: str, where: str) -> Any:
    """Import the callable `module:name`."""
    module, _, inside = name.partition(":")
    try:
        target = getattr(importlib.import_module(module), inside, None)
    except ImportError as error:
        raise ConfigError(where, f"{name!r}: {error}") from None
    if not callable(target):
        raise ConfigError(where, f"{name!r}: {module} has no callable {inside}")
    return target


def _lerobot(room: str) -> Any:
    try:
        return importlib.import_module(f"lerobot.{room}")
    except Exception as error:  # lerobot's own imports raise other errors than ImportError
        advice = "install it in the same environment, e.g. pip install 'lerobot[feetech]' (docs/hardware.md)"
        raise UsageError(f"lerobot cannot be imported ({error}); {advice}") from None


def _register(package: Any, kinds: Any = None, wanted: str = "") -> None:
    """Import lerobot's device modules until `wanted` is registered. Skip modules whose driver is not installed."""
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if kinds is not None and wanted in kinds.get_known_choices():
            return
        if module.ispkg:
            with suppress(ImportError):
                importlib.import_module(module.name)
