"""TwinConnection: connection and episode of a LiveRobot that is a twin in this process."""

from typing import Generic, Self, TypeVar

import numpy as np

from twinloop.deploy.robot import Description
from twinloop.errors import RobotError

Simulation = TypeVar("Simulation")


class TwinConnection(Generic[Simulation]):
    """Base of the twins of all kinds of robots: checks the connection before they answer.

    A context manager: entering it connects, leaving it closes.
    """

    def __init__(self, id: str):
        self.id = id
        self._simulation: Simulation | None = None
        self._about: Description
        self._running = False
        self._clock_s = 0.0

    def connect(self) -> Description:
        raise NotImplementedError

    def describe(self) -> Description:
        self._connected()
        return self._about

    def close(self) -> None:
        self._simulation, self._running = None, False

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connected(self) -> Simulation:
        if self._simulation is None:
            raise RobotError(f"{self.id}: not connected")
        return self._simulation

    def _begun(self) -> Simulation:
        simulation = self._connected()
        if not self._running:
            raise RobotError(f"{self.id}: no episode has begun")
        return simulation

    def _checked(self, action: np.ndarray) -> np.ndarray:
        """The action as floats, if it has the shape of this robot's actions and is finite."""
        action, shape = np.asarray(action, float), self._about.action.shape
        if action.shape != shape or not np.isfinite(action).all():
            raise RobotError(f"{self.id}: act: {shape[0]} finite numbers were expected")
        return action

    def _diverged(self) -> RobotError:
        self._running = False
        return RobotError(f"{self.id}: the physics of this episode diverged")
