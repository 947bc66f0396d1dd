"""TwinRobot: the MuJoCo twin as a LiveRobot, one episode at a time.

Episode i uses draw i of the config. Commands pass `simulate/drive.py`, readings `observe/live_sensors.py` and images
`observe/live_cameras.py`, as in a dataset and in an evaluation.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from twinloop.deploy.description import description_of
from twinloop.deploy.robot import Briefing, Description, Outcome, Reading
from twinloop.deploy.twin_connection import TwinConnection
from twinloop.observe.live_cameras import LiveCameras
from twinloop.observe.live_sensors import LiveSensors
from twinloop.observe.pictures import sensor_features
from twinloop.run.config import RunConfig, load_config
from twinloop.run.default import embedded_config
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.drive import Drive

ALONE = np.zeros(1, int)
SETTLE_S = 0.4


class TwinRobot(TwinConnection[Cell]):
    """`config` is the path of a config; "" is the embedded pick-and-place cell."""

    def __init__(self, config: str = ""):
        super().__init__(f"twin:{config}" if config else "twin")
        self._config: RunConfig = load_config(Path(config)) if config else embedded_config()
        self._seed = self._config.rollout.seed

    def connect(self) -> Description:
        if self._simulation is None:
            twin = twin_of(self._config)
            self._simulation = Cell(twin, width=1)
            self._drive = Drive(self._simulation, seed=self._seed)
            self._sampler = self._config.sampler(seed=self._seed)
            about = description_of(twin, id=self.id, lockstep=True)
            features = tuple(feature.name for feature in about.observed)
            self._watch = LiveSensors(twin, self._config.observe, width=1, seed=self._seed, features=features)
            cameras = self._config.cameras
            films = sensor_features(cameras)
            seen = tuple(feature.name for feature in films)
            self._eyes = LiveCameras(twin, cameras, seen, width=1, seed=self._seed) if seen else None
            task = self._config.scene.task.name
            self._about = replace(about, observed=(*about.observed, *films), task=task)
        return self._about

    def begin(self, episode: int) -> Briefing:
        cell = self._connected()
        twin, draws = cell.twin, self._sampler.draw(episode, episode + 1)
        cell.admit(ALONE, draws, ALONE)
        self._drive.begin(ALONE, draws, ALONE)
        self._watch.begin(ALONE, draws, ALONE)
        if self._eyes is not None:
            self._eyes.begin(ALONE, draws, ALONE)
        self._opening = np.array(twin.robot.home[twin.joints :])
        self._sequence, self._running = -1, True
        self._look()
        human = "present" if twin.task.people else "absent"
        ((instruction, _),) = twin.spoken(draws.values)
        chosen = {
            role.name: role.candidates[index[0]]
            for role, index in zip(
                twin.task.roles, twin.task.choices(draws.values["task_choice"]).values(), strict=True
            )
        }
        conditions = {"object": twin.object.name, "light": "normal", "human": human, **chosen}
        return Briefing(instruction, conditions)

    def observe(self) -> Reading:
        self._begun()
        return self._reading

    def act(self, action: np.ndarray) -> None:
        self._begun()
        self._command(np.clip(self._checked(action), *self._about.limits.position.T))

    def stop(self) -> None:
        cell = self._begun()
        self._command(np.append(cell.arm_position_rad[0], self._opening))

    def end(self) -> Outcome:
        cell = self._begun()
        hold = np.append(cell.arm_position_rad[0], self._opening)
        for _ in range(round(SETTLE_S / cell.twin.control_period_s)):
            self._command(hold)
        self._running = False
        success = bool(cell.twin.task.succeeded(cell)[0])
        return Outcome(success, "judged by the task")

    def _command(self, action: np.ndarray) -> None:
        cell = self._begun()
        joints = cell.twin.joints
        self._opening = action[joints:].copy()
        cell.step(None, self._drive.carry(action[None, :joints]), self._opening[None])
        if cell.failed[0] or not np.isfinite(cell.arm_position_rad).all():
            raise self._diverged()
        self._clock_s += cell.twin.control_period_s
        self._look()

    def _look(self) -> None:
        cell = self._connected()
        features = self._watch.look(cell)
        if self._eyes is not None:
            self._eyes.note(cell)
            features |= self._eyes.look(ALONE)
        self._sequence += 1
        readings = {feature.name: features[feature.name][0].reshape(feature.shape) for feature in self._about.observed}
        achieved = bool(cell.twin.task.succeeded(cell)[0])
        self._reading = Reading(self._sequence, self._clock_s, readings, achieved=achieved)
