"""Teleoperation: a human moves a leader, and the robot is to follow. The leader's numbers mean what the robot's do."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinloop.deploy.lerobot.config_file import LerobotConfig
from twinloop.deploy.lerobot.device import TeleoperatorDevice, make_teleoperator
from twinloop.errors import ConfigError, RobotError

OVER, WON, LOST, AGAIN = "terminate_episode", "success", "failure", "rerecord_episode"


@dataclass(frozen=True)
class TeleoperationSample:
    """action: where the leader is, in our units. over: the human is done. success: if the human said so on the way.
    discarded: the human wants this one not to count."""

    action: np.ndarray
    over: bool
    success: bool | None
    discarded: bool


class Teleoperation:
    """Of one robot's config, under `teleoperator`."""

    def __init__(self, config: LerobotConfig):
        if config.teleoperator is None:
            raise ConfigError(f"{config.file}: teleoperator", "is missing; nobody to show how it is done")
        self._config, self._where = config, f"{config.file}: teleoperator"
        self._device: TeleoperatorDevice | None = None

    def connect(self) -> None:
        config = self._config.teleoperator
        if self._device is None and config is not None:
            device = make_teleoperator(config)
            keys, given = {joint.told.key for joint in self._config.joints}, set(device.action_features)
            if not keys <= given:
                raise ConfigError(
                    self._where, f"tells {', '.join(sorted(given))}; {', '.join(sorted(keys - given))} is missing"
                )
            self._device = device
            self._drive(lambda: device.connect(calibrate=False))

    def lead(self) -> TeleoperationSample:
        device = self._device
        if device is None:
            raise RobotError(f"{self._where}: not connected")
        told, events = self._drive(device.get_action), self._events(device)
        try:
            action = [joint.told.line.ours(float(told[joint.told.key])) for joint in self._config.joints]
        except (KeyError, TypeError, ValueError) as error:
            raise RobotError(f"{self._where}: tells {error} as no number") from None
        success = True if events.get(WON) else False if events.get(LOST) else None
        over = bool(events.get(OVER) or events.get(AGAIN) or success is not None)
        return TeleoperationSample(np.array(action), over, success, bool(events.get(AGAIN)))

    def close(self) -> None:
        device, self._device = self._device, None
        if device is not None:
            with suppress(Exception):  # of a device that is gone
                device.disconnect()

    def _events(self, device: Any) -> Mapping[str, Any]:
        """What some of lerobot's teleoperators tell beside the action. A leader arm has no buttons."""
        if not hasattr(device, "get_teleop_events"):
            return {}
        # lerobot's keys are members of an enumeration whose values are these words.
        return {str(getattr(key, "value", key)): value for key, value in self._drive(device.get_teleop_events).items()}

    def _drive(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except KeyboardInterrupt:
            raise
        except Exception as error:  # drivers raise whatever their bus does
            self.close()
            raise RobotError(f"{self._where}: was lost: {error or type(error).__name__}") from None
