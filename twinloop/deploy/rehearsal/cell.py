"""RehearsalCell: a LiveRobot in its own process that simulates the true cell and reports sensor readings."""

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.deploy.description import description_of
from twinloop.deploy.rehearsal.cell_build import twin_of_scene
from twinloop.deploy.rehearsal.cell_file import CellConfig
from twinloop.deploy.rehearsal.cell_layout import situation_of
from twinloop.deploy.rehearsal.detector import achieved, outcome_of
from twinloop.deploy.rehearsal.physics import physics_class
from twinloop.deploy.rehearsal.world import CellWorld
from twinloop.deploy.robot import Briefing, Description, Outcome, Reading
from twinloop.errors import RobotError, UsageError
from twinloop.observe.pictures import sensor_features
from twinloop.randomize.draw import episode_rng

if TYPE_CHECKING:
    from twinloop.deploy.rehearsal.cell_cameras import CellCameras

BETWEEN_EPISODES_S = 20.0
"""Time on the cell's clock between two episodes, in which a person would lay out the next scene."""
CLOCK_JUMP_S = 3600.0


class RehearsalCell:
    def __init__(self, cell: CellConfig, *, id: str):
        self.cell = cell
        physics_class(cell.engine)  # refuses an engine that is not installed
        twin = twin_of_scene(cell.scene, cell.scene.task)
        about = description_of(twin, id=id, lockstep=not cell.realtime)
        observed = (*about.observed, *sensor_features(cell.scene.cameras))
        self._about = replace(about, observed=observed, task=cell.scene.task.name)
        # A robot's clock does not start at 0.
        self._clock_s = float(np.round(episode_rng(cell.seed, 0, stream="clock").uniform(100, 1000), 3))
        self._world: CellWorld | None = None
        self._eyes: CellCameras | None = None
        self._episode = self._sequence = -1
        self._began = 0.0
        self._reading: Reading | None = None

    def describe(self) -> Description:
        return self._about

    def begin(self, episode: int) -> Briefing:
        situation = situation_of(self.cell, episode)
        self._clock_s += BETWEEN_EPISODES_S
        self._world, self._episode, self._sequence = CellWorld(self.cell, situation, episode), episode, -1
        self._began = time.monotonic()
        self._eyes = self._cameras(self._world, episode)
        self._read()
        ((instruction, _),) = self._world.twin.spoken(situation.draw)
        return Briefing(instruction, situation.conditions)

    def _cameras(self, world: CellWorld, episode: int) -> "CellCameras | None":
        cameras = {name: camera for name, camera in self.cell.scene.cameras.items() if camera.rgb or camera.depth}
        if not cameras:
            return None
        try:
            from twinloop.deploy.rehearsal.cell_cameras import CellCameras
        except ImportError as error:
            raise UsageError(
                f"{self._about.id}: cameras of a rehearsal cell need Drake ({error}); pip install --no-deps drake"
            ) from None
        brightness = world.situation.values["lighting_intensity"]
        return CellCameras(world.build, cameras, brightness=brightness, seed=self.cell.seed, episode=episode)

    def observe(self) -> Reading:
        self._catch_up()
        self._running()
        assert self._reading is not None
        return self._reading

    def scene(self) -> Reading:
        """The scene as a person sees it who stands beside the robot: readings without delay or error, no images."""
        return Reading(self._sequence, self._clock_s, _features(self._running().true_readings()))

    def act(self, action: np.ndarray) -> None:
        if action.shape != self._about.action.shape or not np.isfinite(action).all():
            raise RobotError(f"{self._about.id}: act: {self._about.action.shape[0]} finite numbers were expected")
        low, high = self._about.limits.position.T
        self._catch_up()
        self._running().command(np.clip(action, low, high))
        self._pass_period()

    def stop(self) -> None:
        self._catch_up()
        self._running().halt()
        self._pass_period()

    def end(self) -> Outcome:
        outcome = outcome_of(self._running())
        self._world = None
        return outcome

    def _running(self) -> CellWorld:
        if self._world is None:
            raise RobotError(f"{self._about.id}: no episode has begun")
        return self._world

    def _pass_period(self) -> None:
        if not self.cell.realtime:
            self._tick()

    def _catch_up(self) -> None:
        """In real time, simulate up to the present."""
        if self.cell.realtime and self._world is not None:
            # Computed once: a computer that is too slow falls behind instead of looping for ever.
            due = int((time.monotonic() - self._began) / self._about.period_s)
            while self._sequence < due:
                self._tick()

    def _tick(self) -> None:
        world = self._running()
        world.pass_time(self._about.period_s)
        self._clock_s += self._about.period_s
        self._read()

    def _read(self) -> None:
        world = self._running()
        self._sequence += 1
        features = _features(world.senses.look(world.past))
        if self._eyes is not None:
            features |= self._eyes.look(world.kinematics(), world.table, self._sequence)
        self._break(features)
        self._reading = Reading(self._sequence, self._clock_s, features, achieved=achieved(world))

    def _break(self, features: dict[str, np.ndarray]) -> None:
        fault = self.cell.fault
        if fault is None or fault.episode != self._episode or fault.period > self._sequence:
            return
        if fault.kind == "vanishes":
            os._exit(3)
        elif fault.kind == "loses_joint":
            features["observation.state"] = features["observation.state"][:-1]
        elif fault.period == self._sequence:
            self._clock_s += CLOCK_JUMP_S


def _features(channels: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        "observation.state": channels["position"],
        "observation.velocity": channels["velocity"],
        "observation.effort": channels["effort"],
        "observation.environment_state": channels["environment"],
    }
