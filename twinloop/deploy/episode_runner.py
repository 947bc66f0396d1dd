"""EpisodeRunner: runs episodes with one robot, its safety filter and one or more policy processes."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from twinloop.deploy.action_loop import ActionLoop
from twinloop.deploy.episode import log_of, run_episode
from twinloop.deploy.episode_log import EpisodeLog
from twinloop.deploy.episode_tracker import EpisodeTracker, twin_of_robot
from twinloop.deploy.estop import EStop
from twinloop.deploy.keys import Keys
from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.policy.client import OWN, PolicyProcess
from twinloop.deploy.robot import Description, LiveRobot
from twinloop.deploy.robots import robot_named
from twinloop.deploy.safety.bounds import Bounds, bounds_of, narrowed, slowed
from twinloop.deploy.safety.filter import SafetyFilter
from twinloop.deploy.schedule import Lockstep, Realtime
from twinloop.errors import RobotError
from twinloop.learn.chunks import ActingConfig
from twinloop.randomize.draw import episode_rng
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

RECONNECTS = 3
PAUSE_S = 1.0
"""Before a robot that could not be reached is tried again; twice as long each time."""

Turn = tuple[int, str]
"""(scene, arm): one episode."""


@dataclass(frozen=True)
class DeployConfig:
    """speed, limits_file: narrow the robot's limits, and can do nothing else. ensemble: see ActingConfig.
    longest_s: of an episode; the task's own by default. outcome: who judges, the robot's detector or a human.
    conditions: noted down with every episode. patience_s: for a policy's answer, where the robot is in lockstep.
    seed: of what policies draw, and of the order of arms."""

    speed: float = 1.0
    limits_file: Path | None = None
    ensemble: float | None = None
    longest_s: float | None = None
    outcome: str = "detector"
    conditions: Mapping[str, str] = field(default_factory=dict)
    patience_s: float = 20.0
    seed: int = 0


@dataclass(frozen=True)
class RunnerJob:
    """What a crew is made from. robot: its name, or one that is there already. policies: arm -> checkpoint, or alike.
    about: of the robot, if that is connected. attended: somebody is at the terminal. program: what runs a policy."""

    robot: str | LiveRobot
    policies: Mapping[str, Path | PolicyProcess]
    config: DeployConfig
    stop_file: Path
    about: Description | None = None
    attended: bool = False
    task: str = PICK_AND_PLACE.name
    program: tuple[str, ...] = OWN


def bounds_for(about: Description, config: DeployConfig) -> Bounds:
    """The robot's own limits, narrowed as asked."""
    bounds = slowed(bounds_of(about), config.speed)
    return bounds if config.limits_file is None else narrowed(bounds, config.limits_file)


class EpisodeRunner:
    """A context manager: what it has started ends with it."""

    def __init__(self, job: RunnerJob, attention: OperatorInput):
        self._job, self._attention = job, attention
        self._robot = robot_named(job.robot) if isinstance(job.robot, str) else job.robot
        self._policies = {
            arm: PolicyProcess(policy, program=job.program) if isinstance(policy, Path) else policy
            for arm, policy in job.policies.items()
        }
        self._about: Description | None = None
        self._connected = False

    def __enter__(self) -> "EpisodeRunner":
        try:
            if self._job.about is not None:
                self._settle(self._job.about)
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for policy in self._policies.values():
            policy.end()
        self._robot.close()

    def fly(self, scene: int, arm: str) -> EpisodeLog:
        """One episode, whatever becomes of it. Raises where there is no robot or no policy to begin with."""
        job, policy = self._job, self._policies[arm]
        self._attention.estop.refuse()
        about = self._connect()
        policy.start()
        policy.facts.refuse_misfit(about)
        pilot = ActionLoop(policy, ActingConfig(job.config.ensemble), lockstep=about.lockstep)
        ran = run_episode(
            self._robot, pilot, self._safety, self._onlooker, self._schedule, self._attention,
            scene=scene, rng=episode_rng(job.config.seed, scene, stream="policy"), ask=job.config.outcome == "ask",
        )  # fmt: skip
        if pilot.waiting:
            policy.end()  # it still thinks about what nobody wants to know any more; a fresh one takes over
        if ran.robot_lost:
            self._connected = False
        setting = {"setting/speed": job.config.speed}
        if job.config.ensemble is not None:
            setting["setting/ensemble"] = job.config.ensemble
        log = log_of(ran, about, scene=scene, conditions=job.config.conditions)
        return replace(log, checkpoint=policy.facts.digest, arm=arm, columns={"policy": policy.name, **setting})

    def _connect(self) -> Description:
        """The robot's description, connected to it if need be. One that was lost must be the one it was."""
        known = self._about
        if known is None:
            self._settle(self._robot.connect())
        elif not self._connected:
            about = self._reached()
            if (about.observed, about.action, about.rate_hz) != (known.observed, known.action, known.rate_hz):
                raise RobotError(f"{about.id}: came back with other joints, sensors or another rate")
        self._connected = True
        assert self._about is not None
        return self._about

    def _reached(self) -> Description:
        """A robot that was lost is tried again, RECONNECTS times."""
        pause_s = PAUSE_S
        for _ in range(RECONNECTS - 1):
            try:
                self._robot.close()
                return self._robot.connect()
            except RobotError:
                time.sleep(pause_s)
                pause_s *= 2
        self._robot.close()
        return self._robot.connect()

    def _settle(self, about: Description) -> None:
        config, task = self._job.config, tasks()[self._job.task]
        bounds = bounds_for(about, config)
        twin = twin_of_robot(about.robot, task, "cube", round(about.rate_hz))
        self._safety = SafetyFilter(about, bounds, twin)
        self._onlooker = EpisodeTracker(about, task, longest_s=config.longest_s)
        self._schedule = Lockstep(patience_s=config.patience_s) if about.lockstep else Realtime(period_s=about.period_s)
        self._about, self._connected = about, True


def fly(job: RunnerJob, turns: Iterator[Turn]) -> Iterator[tuple[Turn, EpisodeLog]]:
    """The work of a process: every turn becomes a log. An e-stop that nobody resets ends it, as a signal does."""
    with ExitStack() as leaving:
        keys = leaving.enter_context(Keys()) if job.attended else None
        attention = OperatorInput(EStop(job.stop_file), keys)
        leaving.enter_context(attention.on_signals())
        crew = leaving.enter_context(EpisodeRunner(job, attention))
        for scene, arm in turns:
            log = crew.fly(scene, arm)
            yield (scene, arm), log
            if log.failure == "interrupted" or (attention.estop.latched and not attention.reset_by_hand()):
                return
