"""EpisodeRunner: runs episodes with one robot, its safety filter and one or more policy processes."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from twinloop.deploy.action_loop import ActionLoop
from twinloop.deploy.deployed_task import deployed_task
from twinloop.deploy.episode import log_of, run_episode
from twinloop.deploy.episode_log import EpisodeLog
from twinloop.deploy.episode_tracker import EpisodeTracker, twin_of_robot
from twinloop.deploy.estop import EStop
from twinloop.deploy.keys import Keys
from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.policy.client import OWN, PolicyProcess
from twinloop.deploy.robot import Description, LiveRobot
from twinloop.deploy.robots import robot_named
from twinloop.deploy.safety.bounds import Bounds, bounds_of, narrowed, permitted, slowed
from twinloop.deploy.safety.filter import SafetyFilter
from twinloop.deploy.schedule import Lockstep, Realtime
from twinloop.deploy.takeover import HumanControl, SharedControl, human_control
from twinloop.errors import RobotError, UsageError
from twinloop.gate.permit import Permit
from twinloop.learn.chunks import ActingConfig
from twinloop.randomize.draw import episode_rng
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

RECONNECTS = 3
PAUSE_S = 1.0
"""Pause before the first reconnect; it doubles with each further one."""

Turn = tuple[int, str]
"""(scene, arm): one episode."""


@dataclass(frozen=True)
class DeployConfig:
    """Settings of a deployment.

    Attributes:
        speed: factor on the robot's velocity and acceleration limits, at most 1. None: as much as the gate allows.
        limits_file: a YAML file with narrower limits.
        ensemble: see ActingConfig.
        episode_timeout_s: maximum duration of an episode; the task's own by default.
        takeover: device with which an operator takes over from the policy: `leader` (the leader arm of the robot's
            config), `keys`, or None: the key only marks a takeover.
        outcome: who judges an episode: `detector` (the robot's) or `ask` (a human).
        conditions: conditions to record with every episode.
        inference_timeout_s: timeout of one inference if the robot is in lockstep.
        seed: of the policies' noise and of the order of arms.
    """

    speed: float | None = None
    limits_file: Path | None = None
    ensemble: float | None = None
    episode_timeout_s: float | None = None
    takeover: Literal["leader", "keys"] | None = None
    outcome: str = "detector"
    conditions: Mapping[str, str] = field(default_factory=dict)
    inference_timeout_s: float = 20.0
    seed: int = 0


@dataclass(frozen=True)
class RunnerJob:
    """The arguments of an EpisodeRunner.

    Attributes:
        robot: a robot's name, or a robot object.
        policies: arm -> checkpoint or policy process.
        about: the robot's description, if it is connected already.
        attended: an operator is at the terminal.
        program: the program that runs a policy.
        permits: arm -> what the gate allows this policy.
    """

    robot: str | LiveRobot
    policies: Mapping[str, Path | PolicyProcess]
    config: DeployConfig
    stop_file: Path
    about: Description | None = None
    attended: bool = False
    task: str = PICK_AND_PLACE.name
    program: tuple[str, ...] = OWN
    permits: Mapping[str, Permit] = field(default_factory=dict)


def bounds_for(about: Description, config: DeployConfig, permits: Iterable[Permit] = ()) -> Bounds:
    """Return the robot's own limits, narrowed by the strictest decision of the gate, speed factor and limits file."""
    bounds = bounds_of(about)
    limits = [permit.limits for permit in permits if permit.limits is not None]
    allowed = min((limit.speed for limit in limits), default=1.0)
    if limits and config.speed is not None and config.speed > allowed:
        raise UsageError(f"--speed: {config.speed:g} was given; the decision of the gate allows {allowed:g} at most")
    for limit in limits:
        # All arms of a session run under the same bounds, so that they can be compared.
        bounds = permitted(bounds, replace(limit, speed=1.0))
    bounds = slowed(bounds, speed_of(config, permits))
    return bounds if config.limits_file is None else narrowed(bounds, config.limits_file)


def speed_of(config: DeployConfig, permits: Iterable[Permit]) -> float:
    """The factor on the robot's speed: the configured one, or else as much as the gate allows."""
    allowed = min((permit.limits.speed for permit in permits if permit.limits is not None), default=1.0)
    return allowed if config.speed is None else config.speed


class EpisodeRunner:
    """Runs episodes with one robot and one or more policy processes.

    A context manager: leaving it stops the policy processes and closes the robot.
    """

    def __init__(self, job: RunnerJob, operator: OperatorInput):
        self._job, self._operator = job, operator
        self._robot = robot_named(job.robot)
        self._policies = {
            arm: PolicyProcess(policy, program=job.program) if isinstance(policy, Path) else policy
            for arm, policy in job.policies.items()
        }
        self._about: Description | None = None
        self._human: HumanControl | None = None
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
        if self._human is not None:
            self._human.close()
        self._robot.close()

    def run(self, scene: int, arm: str) -> EpisodeLog:
        """Run one episode and return its log, including aborted and failed ones.

        Raises:
            RobotError: the robot cannot be reached.
            PolicyError: the policy process does not start.
        """
        job, policy = self._job, self._policies[arm]
        self._operator.estop.refuse()
        about = self._connect()
        policy.start()
        policy.facts.refuse_misfit(about)
        loop = ActionLoop(policy, ActingConfig(job.config.ensemble), lockstep=about.lockstep)
        leader = loop if self._human is None else SharedControl(loop, self._human)
        self._operator.can_take_over = self._human is not None
        result = run_episode(
            self._robot, leader, self._safety, self._tracker, self._schedule, self._operator,
            scene=scene, rng=episode_rng(job.config.seed, scene, stream="policy"), ask=self._asks(about),
        )  # fmt: skip
        if loop.waiting:
            policy.end()  # it is still computing an answer to an outdated request; the next episode starts a new one
        if result.robot_lost:
            self._connected = False
        setting: dict[str, str | float | bool] = {"setting/speed": speed_of(job.config, job.permits.values())}
        if job.config.ensemble is not None:
            setting["setting/ensemble"] = job.config.ensemble
        log = log_of(result, about, scene=scene, conditions=job.config.conditions)
        identity = about.identity
        robot = {
            "robot/serial": identity.serial, "robot/firmware": identity.firmware,
            "robot/fingerprint": identity.fingerprint, "robot/simulated": identity.simulated,
        }  # fmt: skip
        columns = {"policy": policy.name, **setting, **job.permits[arm].columns, **robot}
        return replace(log, checkpoint=policy.facts.digest, arm=arm, columns=columns)

    def _asks(self, about: Description) -> bool:
        """Whether the operator judges the episodes. Without an operator, such an outcome stays unknown."""
        return self._job.config.outcome == "ask" or (about.judged_by == "human" and self._job.attended)

    def _connect(self) -> Description:
        """Connect if necessary and return the description. A robot that reconnects must be the same one."""
        known = self._about
        if known is None:
            self._settle(self._robot.connect())
        elif not self._connected:
            about = self._reached()
            difference = known.identity.difference(about.identity)
            if difference:
                raise RobotError(f"{about.id}: is not the same after reconnecting: {difference}; start again")
        self._connected = True
        assert self._about is not None
        return self._about

    def _reached(self) -> Description:
        """Reconnect to a lost robot, with up to RECONNECTS tries."""
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
        config, task = self._job.config, deployed_task(self._job.task)
        bounds = bounds_for(about, config, self._job.permits.values())
        twin = twin_of_robot(about, task)
        self._safety = SafetyFilter(about, bounds, twin)
        self._tracker = EpisodeTracker(about, task, episode_timeout_s=config.episode_timeout_s)
        self._schedule = (
            Lockstep(inference_timeout_s=config.inference_timeout_s)
            if about.lockstep
            else Realtime(period_s=about.period_s)
        )
        if config.takeover is not None:
            self._human = human_control(config.takeover, self._robot, about, twin)
        self._about, self._connected = about, True


def run_episodes(job: RunnerJob, turns: Iterator[Turn]) -> Iterator[tuple[Turn, EpisodeLog]]:
    """The work of one process: run every turn and yield its log. A signal or an e-stop that is not reset ends it."""
    with ExitStack() as stack:
        keys = stack.enter_context(Keys()) if job.attended else None
        operator = OperatorInput(EStop(job.stop_file), keys)
        stack.enter_context(operator.on_signals())
        runner = stack.enter_context(EpisodeRunner(job, operator))
        for scene, arm in turns:
            log = runner.run(scene, arm)
            yield (scene, arm), log
            if log.failure == "interrupted" or (operator.estop.latched and not operator.reset_by_hand()):
                return
