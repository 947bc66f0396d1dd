"""LerobotRobot: a LiveRobot driven by lerobot. It runs in real time.

Errors of a driver are raised as RobotError and close the connection; the next `connect` opens a new one.
"""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.deploy.lerobot.config_file import ALSO, HUMAN, LerobotConfig, read_lerobot, unmapped
from twinloop.deploy.lerobot.device import RobotDevice, imported, make_robot
from twinloop.deploy.robot import Briefing, Description, Limits, Outcome, Reading
from twinloop.errors import ConfigError, RobotError, UsageError
from twinloop.observe.recording import PREFIX, Feature

PEAK_SPEED, PEAK_ACCELERATION = 1.875, 5.774
"""Peaks of a minimum-jerk motion, in units of distance / duration and of distance / duration²."""
ARRIVED = 0.05
"""Share of a joint's range. An episode may begin when every joint is closer to home than that."""
SETTLE_S = 2.0


class LerobotRobot:
    """`config` is the path of a YAML file."""

    def __init__(self, config: str):
        if not config:
            raise UsageError("robot 'lerobot': the config file is missing; give lerobot:CONFIG.yaml (docs/hardware.md)")
        self.config = read_lerobot(Path(config))
        self.id = f"lerobot:{Path(config).name}"
        self._device: RobotDevice | None = None
        self._sequence = -1
        self._command: np.ndarray | None = None

    def connect(self) -> Description:
        if self._device is None:
            device = make_robot(self.config.robot)
            if self.config.outcome != HUMAN:
                self._detector = imported(self.config.outcome, f"{self.config.file}: outcome")
            self._about = _description(self.config, self.id, device)
            self._device = device
            # Calibration needs a human to move the arm; it is done beforehand with lerobot's own command.
            self._drive(lambda: device.connect(calibrate=False), "connecting failed")
            if not self._drive(lambda: device.is_calibrated, "reading the calibration status failed"):
                self.close()
                raise RobotError(f"{self.id}: is not calibrated; run lerobot-calibrate, then try again")
        return self._about

    def describe(self) -> Description:
        self._connected()
        return self._about

    def begin(self, episode: int) -> Briefing:  # noqa: ARG002 - people lay out the scene
        self._connected()
        self._home()
        self._sequence = -1
        return Briefing(self.config.instruction, dict(self.config.conditions))

    def observe(self) -> Reading:
        observation = self._observation()
        self._sequence += 1
        return Reading(self._sequence, time.monotonic(), self._features(observation))

    def act(self, action: np.ndarray) -> None:
        action = np.asarray(action, float)
        if action.shape != self._about.action.shape or not np.isfinite(action).all():
            raise RobotError(f"{self.id}: act: {self._about.action.shape[0]} finite numbers were expected")
        self._send(np.clip(action, *self._about.limits.position.T))

    def stop(self) -> None:
        """Hold the arm at its measured position and the gripper at its last command, as it may hold an object."""
        position = self._position(self._observation())
        if self._command is not None:
            position[-1] = self._command[-1]
        self._send(np.clip(position, *self._about.limits.position.T))

    def end(self) -> Outcome:
        self.stop()
        if self.config.outcome == HUMAN:
            return Outcome(None, "judged by a human")
        seen = self._drive(lambda: self._detector(self._observation()), f"{self.config.outcome} failed")
        if seen is not None and not isinstance(seen, (bool, np.bool_)):
            raise RobotError(
                f"{self.id}: {self.config.outcome} returned {seen!r:.40}; True, False or None was expected"
            )
        return Outcome(None if seen is None else bool(seen), f"judged by {self.config.outcome}")

    def close(self) -> None:
        """Disconnect. lerobot's drivers then disable the torque unless the arm's config prevents that."""
        device, self._device, self._command = self._device, None, None
        if device is not None:
            with suppress(Exception):  # the device may be gone
                device.disconnect()

    def __enter__(self) -> "LerobotRobot":
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _home(self) -> None:
        """Move to the home position with a minimum-jerk motion within the velocity and acceleration limits."""
        limits, period_s = self._about.limits, self._about.period_s
        start, home = self._position(self._observation()), np.array(self._about.home)
        way = np.abs(home - start)
        fast, hard = PEAK_SPEED * way / limits.velocity, np.sqrt(PEAK_ACCELERATION * way / limits.acceleration)
        periods = math.ceil(max(self.config.homing_s, fast.max(), hard.max()) / period_s)
        for number in range(1, periods + 1):
            began, share = time.monotonic(), number / periods
            eased = share**3 * (10 - 15 * share + 6 * share**2)
            self.act(start + eased * (home - start))
            time.sleep(max(0.0, period_s - (time.monotonic() - began)))
        self._arrive(home)

    def _arrive(self, home: np.ndarray) -> None:
        near = ARRIVED * (self._about.limits.position[:, 1] - self._about.limits.position[:, 0])
        until = time.monotonic() + SETTLE_S
        while True:
            far = np.abs(self._position(self._observation()) - home) - near
            if (far < 0).all():
                return
            if time.monotonic() > until:
                name = self._about.joints[int(far.argmax())]
                raise RobotError(
                    f"{self.id}: did not reach the home position: {name} is still away from it; check for an obstacle"
                )
            time.sleep(self._about.period_s)

    def _connected(self) -> RobotDevice:
        if self._device is None:
            raise RobotError(f"{self.id}: not connected")
        return self._device

    def _drive(self, call: Callable[[], Any], problem: str) -> Any:
        try:
            return call()
        except KeyboardInterrupt:
            raise
        except Exception as error:  # drivers raise arbitrary exceptions
            self.close()
            raise RobotError(f"{self.id}: {problem}: {error or type(error).__name__}. Reconnect to continue") from None

    def _observation(self) -> Mapping[str, Any]:
        return self._drive(self._connected().get_observation, "reading the observation failed")

    def _send(self, action: np.ndarray) -> None:
        device, joints = self._connected(), self.config.joints
        command = {joint.key: joint.line.theirs(float(value)) for joint, value in zip(joints, action, strict=True)}
        self._drive(lambda: device.send_action(command), "sending the command failed")
        self._command = action

    def _number(self, observation: Mapping[str, Any], key: str) -> float:
        try:
            return float(observation[key])
        except (KeyError, TypeError, ValueError):
            given = repr(observation[key])[:40] if key in observation else "nothing"
            raise RobotError(f"{self.id}: {key} is {given}; a number was expected") from None

    def _position(self, observation: Mapping[str, Any]) -> np.ndarray:
        return np.array([joint.line.ours(self._number(observation, joint.key)) for joint in self.config.joints])

    def _features(self, observation: Mapping[str, Any]) -> dict[str, np.ndarray]:
        features = {"observation.state": self._position(observation).astype(np.float32)}
        for quantity, name in ALSO.items():
            known = [joint.also[quantity] for joint in self.config.joints if quantity in joint.also]
            if known:
                values = [channel.line.ours(self._number(observation, channel.key)) for channel in known]
                features[name] = np.array(values, np.float32)
        for feature in self._about.observed:
            if feature.is_picture:
                picture = observation.get(feature.name.removeprefix(PREFIX))
                features[feature.name] = np.asarray(picture if picture is not None else ())
        return features


def _description(config: LerobotConfig, id: str, device: RobotDevice) -> Description:
    available, accepted = dict(device.observation_features), set(device.action_features)
    keys = {joint.key for joint in config.joints}
    problem = unmapped(config, available)
    if problem is None and keys != accepted:
        problem = (
            f"the robot accepts the keys {', '.join(sorted(accepted))}; the joints have the keys "
            f"{', '.join(sorted(keys))}"
        )
    if problem is not None:
        raise ConfigError(f"{config.file}: joints", problem)
    joints, names = config.joints, tuple(joint.name for joint in config.joints)
    unit = _unit([joint.line.unit for joint in joints])
    observed = [Feature("observation.state", "float32", (len(joints),), names, unit)]
    for quantity, name in ALSO.items():
        if quantity in joints[0].also:
            units = [joint.also[quantity].line.unit for joint in joints]
            observed.append(Feature(name, "float32", (len(joints),), names, _unit(units)))
    for key, shape in available.items():
        if isinstance(shape, tuple):
            if len(shape) != 3 or shape[2] != 3:
                raise ConfigError(
                    f"{config.file}: robot", f"{key} has shape {shape}; colour images (height, width, 3) were expected"
                )
            observed.append(Feature(PREFIX + key, "video", (int(shape[0]), int(shape[1]), 3)))
    return Description(
        robot=config.model,
        id=id,
        rate_hz=config.rate_hz,
        observed=tuple(observed),
        action=Feature("action", "float32", (len(joints),), names, unit),
        limits=Limits(
            position=np.array([joint.position for joint in joints]),
            velocity=np.array([joint.velocity for joint in joints]),
            acceleration=np.array([joint.acceleration for joint in joints]),
            effort=np.array([joint.effort for joint in joints]),
            workspace_m=np.array(config.workspace_m),
        ),
        home=tuple(joint.home for joint in joints),
        lockstep=False,
        serial=_serial(config, device),
        firmware=config.firmware,
        twin_digest=_twin_digest(config),
        judged_by="human" if config.outcome == HUMAN else "detector",
    )


def _twin_digest(config: LerobotConfig) -> str:
    """Digest of the config of this cell's twin; "" if the file names none."""
    if not config.twin:
        return ""
    from twinloop.run.config import load_config

    return load_config(config.file.parent / config.twin).digest


def _serial(config: LerobotConfig, device: RobotDevice) -> str:
    """The serial number that the device reports, or else the one in the file, or else the device's id."""
    reported = str(getattr(device, "serial_number", "") or "")
    if reported and config.serial and reported != config.serial:
        raise ConfigError(
            f"{config.file}: serial", f"is {config.serial!r}, but the robot reports {reported!r}; is it another robot?"
        )
    return reported or config.serial or str(getattr(device, "id", "") or "")


def _unit(units: list[str]) -> str:
    """Return the unit as datasets write it: the arm's, then the gripper's if it differs."""
    return "; ".join(dict.fromkeys(units) if len(set(units[:-1])) <= 1 else units)
