"""Collect demonstrations on a robot. Each is committed to a runlog when it ends; a second call continues."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from twinloop.curate.verdict import FORGOTTEN
from twinloop.dataset.people.consent import PARTICIPANT, Consent
from twinloop.deploy.demonstrator import Demonstrator
from twinloop.deploy.deployed_task import task_for
from twinloop.deploy.episode import log_of, run_episode
from twinloop.deploy.episode_log import EpisodeLog
from twinloop.deploy.episode_runner import DeployConfig, EpisodeRunner, RunnerJob
from twinloop.deploy.estop import EStop, stop_file_of
from twinloop.deploy.imperfection import ImperfectionConfig
from twinloop.deploy.keys import Keys
from twinloop.deploy.leaders import OTHER, ScriptedLeader, TeleoperationLeader
from twinloop.deploy.lerobot.robot import LerobotRobot
from twinloop.deploy.lerobot.teleoperator import Teleoperation
from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.rehearsal.client import RehearsalRobot, scene_seen_by_a_person
from twinloop.deploy.robot import Description, LiveRobot, Reading
from twinloop.deploy.robot_model import usual_robot
from twinloop.deploy.robots import SEVERAL, robot_named, with_scene
from twinloop.deploy.runlog import Runlog
from twinloop.deploy.session import AGAIN, SessionProgress
from twinloop.deploy.tally import Tally, tally
from twinloop.errors import UsageError, nearest
from twinloop.fleet.local import run_local
from twinloop.randomize.draw import episode_rng
from twinloop.simulate.expert import ExpertConfig
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks

STRIDE = 1 << 24
"""Episode k uses the first of the scenes k, k + STRIDE, k + 2 STRIDE ... that has the requested conditions."""
MAX_SCENES = 200
Sees = Literal["readings", "scene"]


@dataclass(frozen=True)
class CollectConfig:
    """Settings of a collection.

    Attributes:
        tries: maximum number of demonstrations of an episode until one succeeds.
        conditions: requested conditions. Scenes for which the robot reports others are skipped; conditions that the
            robot does not report are recorded as given.
        consent: of the person who demonstrates.
        imperfection: of the scripted demonstrator; None for the plain script.
        sees: what the scripted demonstrator sees. `scene` is the scene itself, as a person sees it; only rehearsal
            cells have it. Recorded are the robot's readings in both cases.
        speed, limits_file: narrow the robot's limits.
    """

    tries: int = 1
    conditions: Mapping[str, str] = field(default_factory=dict)
    consent: Consent | None = None
    imperfection: ImperfectionConfig | None = field(default_factory=ImperfectionConfig)
    sees: Sees = "readings"
    speed: float = 1.0
    limits_file: Path | None = None
    seed: int = 0


@dataclass(frozen=True)
class CollectJob:
    """The job of a worker. runner: the robot and its limits."""

    runner: RunnerJob
    config: CollectConfig


Item = tuple[int, int]
"""(episode, number of earlier tries)."""


@dataclass(frozen=True)
class CollectResult:
    """The result of a collection.

    Attributes:
        path, digest: of the runlog.
        tally: statistics of the runlog's episodes of this collection; None if there are none.
        succeeded: planned episodes with a successful demonstration.
        fresh: demonstrations made in this session.
        stopped: why it ended early, or "".
    """

    path: Path
    digest: str
    robot: str
    tally: Tally | None
    planned: int
    succeeded: int
    fresh: int
    stopped: str = ""


class DemonstrationRunner(EpisodeRunner):
    """Runs demonstrations with one robot and one demonstrator."""

    def __init__(self, job: CollectJob, operator: OperatorInput):
        super().__init__(job.runner, operator)
        self._config = job.config
        self._leader: ScriptedLeader | TeleoperationLeader | None = None

    def __exit__(self, *error: object) -> None:
        if self._leader is not None:
            self._leader.close()
        super().__exit__(*error)

    def demonstrate(self, episode: int, earlier_tries: int) -> tuple[EpisodeLog, ...]:
        """Demonstrate an episode until one try succeeds or the tries are used up."""
        logs: list[EpisodeLog] = []
        for number in range(earlier_tries, self._config.tries):
            logs.append(self._first_that_fits(episode, number))
            if logs[-1].outcome == "success" or logs[-1].failure in (*AGAIN, "e_stop"):
                break
        return tuple(logs)

    def _first_that_fits(self, episode: int, number: int) -> EpisodeLog:
        for again in range(MAX_SCENES):
            log = self._try(episode + again * STRIDE, number)
            if log.failure != OTHER:
                return log
        wanted = ", ".join(f"{name}={value}" for name, value in self._config.conditions.items())
        raise UsageError(
            f"--condition: none of {MAX_SCENES} scenes on this robot has {wanted}; request other conditions"
        )

    def _try(self, scene: int, number: int) -> EpisodeLog:
        config, consent = self._config, self._config.consent
        self._operator.estop.refuse()
        about = self._connect()
        leader = self._leader = self._leader or _leader(self._robot, about, config, tasks()[self._job.task])
        leader.number_of_try = number
        result = run_episode(
            self._robot, leader, self._safety, self._tracker, self._schedule, self._operator,
            scene=scene, rng=episode_rng(config.seed, scene, stream="demonstration"),
        )  # fmt: skip
        if result.robot_lost:
            self._connected = False
        consent_columns = {
            name: value for name, value in (consent.columns() if consent else {}).items() if name != PARTICIPANT
        }
        return replace(
            log_of(result, about, scene=scene, conditions=config.conditions),
            participant=consent.participant if consent else "",
            columns={
                "demonstrator": leader.kind,
                "try": number,
                "setting/speed": config.speed,
                "setting/sees": config.sees,
                **consent_columns,
            },
        )


def _leader(
    robot: LiveRobot, about: Description, config: CollectConfig, task: Task
) -> ScriptedLeader | TeleoperationLeader:
    if isinstance(robot, LerobotRobot):
        teleoperation = Teleoperation(robot.config)
        return TeleoperationLeader(teleoperation, about, config.conditions, episode_timeout_s=robot.config.episode_s)
    # The recorded action must be the one that was sent, so the script adds no noise.
    script = ExpertConfig(action_noise_rad=0.0)
    demonstrator = Demonstrator(about, script, seed=config.seed, task=task, imperfection=config.imperfection)
    return ScriptedLeader(demonstrator, config.conditions, scene_of(robot, config.sees))


def scene_of(robot: LiveRobot, sees: Sees) -> Callable[[], Reading] | None:
    """Return the function with which a scripted demonstrator sees the scene; None if it sees the robot's readings.

    Raises:
        UsageError: the demonstrator should see the scene, and the robot has readings only.
    """
    if sees == "readings":
        return None
    if not isinstance(robot, RehearsalRobot):
        raise UsageError(
            f"the demonstrator cannot see the scene: {robot.describe().id} has readings only. Use a rehearsal cell, or "
            "let the demonstrator see readings (the default)"
        )
    return partial(scene_seen_by_a_person, robot)


def run_demonstrations(job: CollectJob, items: Iterator[Item]) -> Iterator[tuple[Item, tuple[EpisodeLog, ...]]]:
    """The work of one process: demonstrate every episode and yield its logs."""
    with ExitStack() as stack:
        keys = stack.enter_context(Keys()) if job.runner.attended else None
        operator = OperatorInput(EStop(job.runner.stop_file), keys)
        stack.enter_context(operator.on_signals())
        runner = DemonstrationRunner(job, operator)
        stack.enter_context(runner)
        for episode, earlier_tries in items:
            logs = runner.demonstrate(episode, earlier_tries)
            yield (episode, earlier_tries), logs
            last = logs[-1].failure if logs else ""
            if last in AGAIN or (operator.estop.latched and not operator.reset_by_hand()):
                return


def collect(
    robot: str | LiveRobot,
    out: Path,
    *,
    episodes: int,
    first: int = 0,
    config: CollectConfig = CollectConfig(),  # noqa: B008
    stop_file: Path | None = None,
    workers: int = 1,
    attended: bool = False,
    task: Task | None = None,
    on_progress: Callable[[SessionProgress], None] = lambda _: None,
) -> CollectResult:
    """Collect demonstrations of the episodes `first` to `first + episodes - 1` in the runlog `out`.

    Args:
        task: by default the one that the robot is set up for, else pick_and_place.
    """
    name = robot if isinstance(robot, str) else ""
    if workers > 1 and name.partition(":")[0] not in SEVERAL:
        raise UsageError(
            f"--workers {workers}: {name or 'this robot'} allows one worker; several are possible with "
            f"{', '.join(SEVERAL)}"
        )
    if config.consent is not None:
        config.consent.require("record", today=datetime.now(UTC).date())  # before the robot moves
    if isinstance(robot, str) and task is not None:
        robot = name = with_scene(robot, robot=usual_robot(task), task=task.name)
    live = robot_named(robot)
    try:
        about = live.connect()
        scene_of(live, config.sees)  # refuses before anything is written
        task = _task_at_a_table(task_for(about, None if task is None else task.name))
        latch = stop_file or stop_file_of(about.id)
        EStop(latch).refuse()
        limits = DeployConfig(speed=config.speed, limits_file=config.limits_file, seed=config.seed)
        runner = RunnerJob(live, {}, limits, latch, about, attended, task.name)
        with Runlog.open(out, about, task=task.name, phases=task.phase_names) as runlog:
            if workers > 1:
                live.close()  # each worker connects its own robot
                runner = replace(runner, robot=name, about=None)
            wanted = range(first, first + episodes)
            return _session(CollectJob(runner, config), runlog, wanted, workers, about.id, on_progress)
    finally:
        live.close()


def _task_at_a_table(name: str) -> Task:
    if name not in tasks():
        raise UsageError(f"--task {name!r}: the scripted demonstrator works at a table; {nearest(name, tasks())}")
    return tasks()[name]


def _session(
    job: CollectJob,
    runlog: Runlog,
    wanted: range,
    workers: int,
    robot: str,
    on_progress: Callable[[SessionProgress], None],
) -> CollectResult:
    rows = _rows(runlog, job.config, wanted)
    rows_of_episode = {number: [row for row in rows if row["scene"] % STRIDE == number] for number in wanted}
    succeeded = {
        number for number, tries in rows_of_episode.items() if any(row["outcome"] == "success" for row in tries)
    }
    settled = {
        number for number, tries in rows_of_episode.items() if number in succeeded or len(tries) >= job.config.tries
    }
    aborted, fresh, stopped = sum(row["outcome"] == "aborted" for row in rows), 0, ""
    items = [(number, len(rows_of_episode[number])) for number in wanted if number not in settled]
    on_progress(SessionProgress(len(settled), len(wanted), len(succeeded), aborted))
    for (episode, _), logs in run_local(run_demonstrations, job, items, workers=workers) if items else ():
        for log in logs:
            runlog.add(log)
            fresh += 1
            aborted += log.outcome == "aborted"
            stopped = log.outcome_detail if log.failure in (*AGAIN, "e_stop") else stopped
            succeeded |= {episode} if log.outcome == "success" else set()
        if logs and logs[-1].failure not in AGAIN:
            settled.add(episode)
        on_progress(SessionProgress(len(settled), len(wanted), len(succeeded), aborted, logs[-1] if logs else None))
    digest = runlog.finish()
    rows = _rows(runlog, job.config, wanted)
    counted = tally(rows) if rows else None
    done = len(settled) == len(wanted)
    return CollectResult(
        runlog.path, digest, robot, counted, len(wanted), len(succeeded), fresh, "" if done else stopped
    )


def _rows(runlog: Runlog, config: CollectConfig, wanted: range) -> list[dict]:
    """The logged demonstrations of these episodes by this person, without interrupted ones."""
    participant = config.consent.participant if config.consent else ""
    return [
        row
        for row in runlog.attempts().to_pylist()
        if row["verdict"] != FORGOTTEN
        and row["scene"] % STRIDE in wanted
        and row["participant"] == participant
        and row.get("demonstrator")
        and row["failure"] not in AGAIN
    ]
