"""Teleoperation: a human moves a leader arm and the robot follows. Leader and robot use the same keys and units."""

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
    """The state of the teleoperator in one control period.

    Attributes:
        action: position of the leader, in our units.
        over: the human ended the episode.
        success: the human's judgement, or None if there is none yet.
        discarded: the human discarded this episode.
    """

    action: np.ndarray
    over: bool
    success: bool | None
    discarded: bool


class Teleoperation:
    """The teleoperator of a robot's config (key `teleoperator`)."""

    def __init__(self, config: LerobotConfig):
        if config.teleoperator is None:
            raise ConfigError(f"{config.file}: teleoperator", "is missing; demonstrations need a teleoperator")
        self._config, self._where = config, f"{config.file}: teleoperator"
        self._device: TeleoperatorDevice | None = None

    def connect(self) -> None:
        config = self._config.teleoperator
        if self._device is None and config is not None:
            device = make_teleoperator(config)
            keys, given = {joint.key for joint in self._config.joints}, set(device.action_features)
            if not keys <= given:
                raise ConfigError(
                    self._where, f"reports {', '.join(sorted(given))}; {', '.join(sorted(keys - given))} is missing"
                )
            self._device = device
            self._drive(lambda: device.connect(calibrate=False))

    def lead(self) -> TeleoperationSample:
        device = self._device
        if device is None:
            raise RobotError(f"{self._where}: not connected")
        reported, events = self._drive(device.get_action), self._events(device)
        try:
            action = [joint.line.ours(float(reported[joint.key])) for joint in self._config.joints]
        except (KeyError, TypeError, ValueError) as error:
            raise RobotError(f"{self._where}: no number for {error}") from None
        success = True if events.get(WON) else False if events.get(LOST) else None
        over = bool(events.get(OVER) or events.get(AGAIN) or success is not None)
        return TeleoperationSample(np.array(action), over, success, bool(events.get(AGAIN)))

    def close(self) -> None:
        device, self._device = self._device, None
        if device is not None:
            with suppress(Exception):  # the device may be gone
                device.disconnect()

    def _events(self, device: Any) -> Mapping[str, Any]:
        """Return the events that some of lerobot's teleoperators report; a leader arm has no buttons and no events."""
        if not hasattr(device, "get_teleop_events"):
            return {}
        # lerobot's keys are enum members whose values are these words.
        return {str(getattr(key, "value", key)): value for key, value in self._drive(device.get_teleop_events).items()}

    def _drive(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except KeyboardInterrupt:
            raise
        except Exception as error:  # drivers raise arbitrary exceptions
            self.close()
            raise RobotError(f"{self._where}: connection lost: {error or type(error).__name__}") from None
