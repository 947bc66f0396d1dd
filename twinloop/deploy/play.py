"""Play prepared motions on a robot, through the safety filter, and log each as an episode of a runlog."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from twinloop.deploy.episode import log_of, run_episode
from twinloop.deploy.episode_log import EpisodeLog
from twinloop.deploy.episode_runner import DeployConfig, EpisodeRunner, RunnerJob
from twinloop.deploy.estop import EStop, stop_file_of
from twinloop.deploy.keys import Keys
from twinloop.deploy.leader import LeaderAction
from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.robot import Briefing, LiveRobot, Reading
from twinloop.deploy.robots import robot_named
from twinloop.deploy.runlog import Runlog
from twinloop.deploy.session import AGAIN
from twinloop.randomize.draw import episode_rng
from twinloop.twin.task import Task
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

MOTION = "motion"


class MotionLeader:
    """Commands the rows of a prepared motion, one per control period."""

    ends_itself = True
    judged_success = None

    def __init__(self, commands: np.ndarray):
        self._commands, self._frame = commands, 0

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None:  # noqa: ARG002
        self._frame = 0

    def act(self, reading: Reading, operator: OperatorInput, deadline_s: float) -> LeaderAction:  # noqa: ARG002
        over = self._frame >= len(self._commands)
        row = self._commands[min(self._frame, len(self._commands) - 1)]
        self._frame += 1
        return LeaderAction(row, 0.0, over=over)

    def sent(self, command: np.ndarray) -> None:
        """Not needed: the motion is fixed."""


class MotionRunner(EpisodeRunner):
    """Plays motions with one robot."""

    def play(self, number: int, commands: np.ndarray) -> EpisodeLog:
        """Play one motion and return its log, also if it was aborted."""
        self._operator.estop.refuse()
        about = self._connect()
        result = run_episode(
            self._robot, MotionLeader(commands), self._safety, self._tracker, self._schedule, self._operator,
            scene=number, rng=episode_rng(0, number, stream=MOTION),
        )  # fmt: skip
        if result.robot_lost:
            self._connected = False
        log = log_of(result, about, scene=number, conditions={})
        return replace(log, columns={"demonstrator": MOTION, "try": 0, "setting/speed": self._job.config.speed or 1.0})


@dataclass(frozen=True)
class PlayResult:
    """Motions that were played.

    Attributes:
        changed: changes of commands by the safety filter, per control period.
        limits: limit -> how often it changed a command.
    """

    path: Path
    digest: str
    played: int
    changed: float
    stopped: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)


def play(
    robot: str | LiveRobot,
    out: Path,
    motions: Sequence[np.ndarray],
    *,
    config: DeployConfig = DeployConfig(),  # noqa: B008
    stop_file: Path | None = None,
    attended: bool = False,
    task: Task = PICK_AND_PLACE,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> PlayResult:
    """Play motions one after the other, each from the robot's home, and log them in `out`.

    Args:
        motions: (frames, elements of the action) commands of each.
        on_progress: called with (played, total).
    """
    live = robot_named(robot) if isinstance(robot, str) else robot
    about = live.connect()
    latch = stop_file or stop_file_of(about.id)
    stopped, frames, played, limits = "", 0, 0, Counter[str]()
    with ExitStack() as stack:
        keys = stack.enter_context(Keys()) if attended else None
        operator = OperatorInput(EStop(latch), keys)
        stack.enter_context(operator.on_signals())
        runner = MotionRunner(RunnerJob(live, {}, config, latch, about, attended, task.name), operator)
        stack.enter_context(runner)
        runlog = stack.enter_context(Runlog.open(out, about, task=task.name, phases=task.phase_names))
        for number, commands in enumerate(motions):
            log = runner.play(number, commands)
            runlog.add(log)
            played += log.outcome != "aborted"
            limits.update(log.safety)
            frames += log.length
            on_progress(number + 1, len(motions))
            if log.outcome == "aborted":
                stopped = log.outcome_detail or log.failure
                if log.failure in (*AGAIN, "e_stop"):
                    break
        used = {name: times for name, times in limits.most_common() if times}
        return PlayResult(runlog.path, runlog.finish(), played, limits.total() / max(frames, 1), stopped, used)
