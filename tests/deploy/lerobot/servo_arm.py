"""A robot and a leader with lerobot's interface that are no hardware: servo joints, simulated in real time."""

import time
from typing import Any

import numpy as np

JOINTS = ("shoulder", "elbow", "gripper")


class ServoArm:
    """Joints that follow commands as first-order servos, with noisy encoders. Degrees; gripper 0 to 100."""

    name = "servo_arm"
    is_connected = False
    is_calibrated = True

    def __init__(
        self,
        *,
        seed: int = 0,
        time_constant_s: float = 0.02,
        noise: float = 0.05,
        start: tuple[float, ...] = (40.0, -30.0, 20.0),
        camera: bool = False,
        calibrated: bool = True,
        lost_after: int | None = None,
        stuck: bool = False,
    ):
        self._rng = np.random.default_rng(seed)
        self._time_constant_s, self._noise, self._camera = time_constant_s, noise, camera
        self._position = np.array(start)
        self._goal = self._position.copy()
        self._moved = time.monotonic()
        self._left, self._stuck = lost_after, stuck
        self.is_calibrated = calibrated
        self.commands: list[dict[str, Any]] = []
        self.sent_at: list[float] = []

    @property
    def observation_features(self) -> dict[str, Any]:
        pictures = {"front": (24, 32, 3)} if self._camera else {}
        return {**self.action_features, **pictures}

    @property
    def action_features(self) -> dict[str, Any]:
        return {f"{name}.pos": float for name in JOINTS}

    def connect(self, calibrate: bool = True) -> None:
        assert not calibrate  # that would ask a human
        self.is_connected = True

    def disconnect(self) -> None:
        self._alive()
        self.is_connected = False

    def get_observation(self) -> dict[str, Any]:
        self._alive()
        self._move()
        seen = self._position + self._noise * self._rng.standard_normal(len(JOINTS))
        observation: dict[str, Any] = {f"{name}.pos": value for name, value in zip(JOINTS, seen, strict=True)}
        if self._camera:
            observation["front"] = np.full((24, 32, 3), int(abs(seen[0])), np.uint8)
        return observation

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        self._alive()
        self._move()
        self._goal = np.array([action[f"{name}.pos"] for name in JOINTS])
        self.commands.append(action)
        self.sent_at.append(time.monotonic())
        return action

    def _move(self) -> None:
        now = time.monotonic()
        if not self._stuck:
            share = 1 - np.exp(-(now - self._moved) / self._time_constant_s)
            self._position = self._position + share * (self._goal - self._position)
        self._moved = now

    def _alive(self) -> None:
        if not self.is_connected:
            raise ConnectionError("ServoArm is not connected")
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise ConnectionError("Failed to sync read 'Present_Position': no status packet")


class ScriptedLeader:
    """Swings the joints, opens the gripper, and ends after a number of readings with a judgement of success."""

    name = "scripted_leader"
    is_connected = False

    def __init__(self, *, looks: int = 20, ends_with: str = "success", lost_after: int | None = None):
        self._looks, self._ends_with, self._lost_after = looks, ends_with, lost_after
        self._seen = 0

    @property
    def action_features(self) -> dict[str, Any]:
        return {f"{name}.pos": float for name in JOINTS}

    def connect(self, calibrate: bool = True) -> None:
        assert not calibrate
        self.is_connected = True

    def disconnect(self) -> None:
        self.is_connected = False

    def get_action(self) -> dict[str, float]:
        self._seen += 1
        if self._lost_after is not None and self._seen > self._lost_after:
            raise ConnectionError("the leader's plug was pulled")
        swing = 10 * np.sin(self._seen / 5)
        return {"shoulder.pos": swing, "elbow.pos": -swing, "gripper.pos": min(100.0, 5.0 * self._seen)}

    def get_teleop_events(self) -> dict[str, bool]:
        if self._seen < self._looks:
            return {}
        self._seen = 0  # the next episode begins from the start
        return {self._ends_with: True}
