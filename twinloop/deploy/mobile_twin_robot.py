"""MobileTwinRobot: the twin of a robot with legs or wheels as a LiveRobot, one episode at a time.

Episode i has the draws, the physics and the sensor values of episode i of an evaluation with the config's seed.
"""

from pathlib import Path

import numpy as np

from twinloop.deploy.robot import Briefing, Description, Limits, Outcome, Reading
from twinloop.deploy.twin_connection import TwinConnection
from twinloop.environments.make import mobile_embodiment
from twinloop.environments.mobile import MobileEmbodiment
from twinloop.environments.mobile_rollout import DIVERGED, longest_ticks, termination_terms
from twinloop.environments.term import StepState
from twinloop.run.config import load_config
from twinloop.run.mobile import MobileConfig

ALONE = np.zeros(1, int)


class MobileTwinRobot(TwinConnection[MobileEmbodiment]):
    """`config` is the path of a config of a robot with legs or wheels."""

    def __init__(self, config: str):
        super().__init__(f"twin:{config}")
        loaded = load_config(Path(config))
        assert isinstance(loaded, MobileConfig)
        self._config = loaded

    def connect(self) -> Description:
        if self._simulation is None:
            seed = self._config.rollout.seed
            self._simulation = robot = mobile_embodiment(self._config, width=1, seed=seed)
            self._ends, self._longest = termination_terms(robot), longest_ticks(robot)
            self._about = _description(robot, self.id, self._config.scene.task.name)
        return self._about

    def begin(self, episode: int) -> Briefing:
        robot = self._connected()
        robot.begin(ALONE, robot.draw(episode, episode + 1), ALONE)
        self._ticks = np.zeros(1, int)
        self._action = np.zeros((1, robot.action.shape[0]))
        self._impossible = str(robot.impossible()[0])
        self._failure, self._over = self._impossible, bool(self._impossible)
        self._sequence, self._running = -1, True
        self._look()
        return Briefing(robot.instruction, {})

    def observe(self) -> Reading:
        self._begun()
        return self._reading

    def act(self, action: np.ndarray) -> None:
        robot = self._begun()
        command = np.clip(self._checked(action), robot.scale.lowest, robot.scale.highest)[None]
        robot.step(None, command)
        self._ticks += 1
        previous, self._action = self._action, (command - robot.scale.centre) / robot.scale.span
        state = StepState(robot, self._action, previous, self._ticks, self._longest)
        ended = [term.name for term in self._ends if term.function(state)[0]]
        if robot.diverged(self._ticks)[0]:
            ended = [DIVERGED]
        # A robot that is stopped may be commanded after the end of its episode. The first end counts.
        self._failure = self._failure or next(iter(ended), "")
        self._over = bool(self._failure) or bool(self._ticks[0] >= self._longest)
        if self._failure == DIVERGED:
            raise self._diverged()
        self._clock_s += 1 / robot.rate_hz
        self._look()

    def stop(self) -> None:
        """Command the stance of a robot with legs, and speed 0 of one on wheels."""
        self.act(np.array(self._begun().rest))

    def end(self) -> Outcome:
        robot = self._begun()
        self._running = False
        if self._impossible:
            return Outcome(None, f"the scene cannot be done by any robot: {self._impossible}")
        success = bool(robot.succeeded()[0])
        return Outcome(success, "judged by the task", "" if success else self._failure or robot.unfinished)

    def _look(self) -> None:
        robot = self._connected()
        features = {name: values[0] for name, values in robot.observe(None).items()}
        features[robot.surroundings.name] = robot.surrounding_poses()[0].astype(np.float32)
        self._sequence += 1
        self._reading = Reading(self._sequence, self._clock_s, features, over=self._over)


def _description(robot: MobileEmbodiment, id: str, task: str) -> Description:
    unlimited = np.full(robot.action.shape[0], np.inf)
    return Description(
        robot=robot.robot,
        id=id,
        rate_hz=robot.rate_hz,
        observed=(*robot.features, robot.surroundings),
        action=robot.action,
        limits=Limits(
            position=np.column_stack([robot.scale.lowest, robot.scale.highest]),
            # The servos of its joints limit speed and torque themselves.
            velocity=unlimited,
            acceleration=unlimited,
            effort=unlimited,
            workspace_m=np.array([[-np.inf, np.inf]] * 3),
        ),
        home=tuple(float(value) for value in robot.rest),
        lockstep=True,
        simulated=True,
        commands="speeds" if robot.takes_speeds else "positions",
        task=task,
        asked=tuple(f"{feature}.{name}" for feature, name in robot.asked),
    )
