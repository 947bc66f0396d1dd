"""Demonstrator: the scripted expert on a robot. Its only information about the scene is the robot's readings.

It runs the expert of `simulate/expert.py` on a `RobotView` instead of on a simulation.
"""

from dataclasses import dataclass, replace

import numpy as np

from twinloop.deploy.imperfect_demonstrator import PATIENCE, ImperfectDemonstrator
from twinloop.deploy.imperfection import ImperfectHand, ImperfectionConfig
from twinloop.deploy.reading_check import ReadingCheck
from twinloop.deploy.robot import Briefing, Description, LiveRobot, Outcome, Reading
from twinloop.deploy.robot_model import model_named
from twinloop.deploy.robot_view import RobotView
from twinloop.errors import RobotError, nearest
from twinloop.randomize.draw import Draws, episode_rng
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.twin.assemble import assemble
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots import robots
from twinloop.twin.task import Task
from twinloop.twin.task_checks import unfit_arms
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

ALONE = np.zeros(1, int)


@dataclass(frozen=True)
class Move:
    """One control period. action: the action to record. command: the one to send, with the demonstrator's noise."""

    action: np.ndarray
    command: np.ndarray
    phase: str
    over: bool
    retries: int


class Demonstrator:
    """Demonstrates on one robot. An episode lasts from `begin` until a move with `over`.

    Args:
        imperfection: imitate a human demonstrator. The recorded action is then the motion of the hand, as in
            teleoperation, and no further noise is added to the command.
    """

    def __init__(
        self,
        description: Description,
        config: ExpertConfig = ExpertConfig(),  # noqa: B008
        *,
        seed: int,
        task: Task = PICK_AND_PLACE,
        imperfection: ImperfectionConfig | None = None,
    ):
        model = model_named(description.id, description.robot)
        if model is None:
            raise RobotError(
                f"{description.id}: has robot {description.robot}, for which there is no scripted "
                f"demonstrator; {nearest(description.robot, robots())}"
            )
        unfit = unfit_arms(task, model)
        if unfit:
            raise RobotError(f"{description.id}: {unfit}")
        self._robot, self._task, self._config, self._seed = model, task, config, seed
        self._rate_hz = round(description.rate_hz)
        self._imperfection, self._human = imperfection, None
        self.imperfect = imperfection is not None
        self._hands: dict[str, tuple[Twin, RobotView, Expert]] = {}

    def begin(self, briefing: Briefing, episode: int) -> None:
        """Begin an episode. The briefing may name the kind of object, which determines its size and grip."""
        kind = briefing.conditions.get("object", "")
        if kind == self._task.things[0].object.name:
            kind = ""  # the task's own
        if kind and kind not in OBJECTS:
            raise RobotError(f"unknown object {kind!r}; {nearest(kind, OBJECTS)}")
        if kind not in self._hands:
            twin = assemble(self._robot, self._task, OBJECTS.get(kind), control_hz=self._rate_hz)
            self._hands[kind] = twin, RobotView(twin), self._expert_of(twin)
        self._twin, self._sight, self._expert = self._hands[kind]
        self._sight.begin(briefing.conditions)
        if self._imperfection is not None:
            self._human = self._human_of(self._imperfection, episode)
            self._expert = self._human.expert
        self._expert.begin(ALONE, Draws(np.array([episode]), {}, ()), ALONE)
        self._ticks, self._longest = 0, self._twin.longest_ticks * (1 if self._human is None else PATIENCE)
        self._command: np.ndarray | None = None

    def act(self, reading: Reading) -> Move:
        self._sight.take(reading, self._command)
        act = self._expert.act(self._sight) if self._human is None else self._human.act(self._sight)
        self._ticks += 1
        self._command = np.append(act.command_rad[0], act.opening[0])
        return Move(
            action=np.append(act.arm_rad[0], act.opening[0]),
            command=self._command,
            phase=self._task.phase_names[int(act.phase[0])],
            over=bool(act.over[0]) or self._ticks > self._longest,
            retries=int(act.retries[0]),
        )

    def sent(self, command: np.ndarray) -> None:
        """Receive the command that was sent. The safety filter may have changed the last move's command."""
        self._command = command

    def _expert_of(self, twin: Twin) -> Expert:
        # RobotView already predicts where the arm will come to rest.
        return Expert(twin, self._config, width=1, seed=self._seed, foresees=False)

    def _human_of(self, imperfection: ImperfectionConfig, episode: int) -> ImperfectDemonstrator:
        twin = self._twin
        rng = episode_rng(self._seed, episode, stream="imperfection")
        hand = ImperfectHand(imperfection, joints=len(twin.arm_joints), period_s=twin.control_period_s, rng=rng)
        return ImperfectDemonstrator(twin, replace(self._config, action_noise_rad=0.0), hand, seed=self._seed)


@dataclass(frozen=True)
class Demonstration:
    """One demonstration. periods: its length in control periods."""

    briefing: Briefing
    outcome: Outcome
    last_phase: str
    periods: int


def demonstrate(robot: LiveRobot, demonstrator: Demonstrator, episode: int) -> Demonstration:
    """Demonstrate one episode, from scene layout to outcome. Raise RobotError if the robot fails."""
    briefing, check = robot.begin(episode), ReadingCheck(robot.describe())
    demonstrator.begin(briefing, episode)
    periods = 0
    while True:
        move = demonstrator.act(check.see(robot.observe()))
        if move.over:
            return Demonstration(briefing, robot.end(), move.phase, periods)
        robot.act(move.command)
        periods += 1
