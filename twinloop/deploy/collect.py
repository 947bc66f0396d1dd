"""Collecting: demonstrations on a robot, each committed to a runlog as it ends. Called again, it goes on."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from twinloop.curate.verdict import FORGOTTEN
from twinloop.dataset.people.consent import PARTICIPANT, Consent
from twinloop.deploy.demonstrator import Demonstrator
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
from twinloop.deploy.robot import Description, LiveRobot
from twinloop.deploy.robots import SEVERAL, robot_named
from twinloop.deploy.runlog import Runlog
from twinloop.deploy.session import AGAIN, SessionProgress
from twinloop.deploy.tally import Tally, tally
from twinloop.errors import UsageError
from twinloop.fleet.local import run_local
from twinloop.randomize.draw import episode_rng
from twinloop.simulate.expert import ExpertConfig
from twinloop.twin.task import Task
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

STRIDE = 1 << 24
"""Scenes k, k + STRIDE, ... are looked through for one that is as asked for; the k-th episode is in one of them."""
MOST_SCENES = 200


@dataclass(frozen=True)
class CollectConfig:
    """tries: at most so many demonstrations of an episode until one succeeds. consent: of whoever leads.
    conditions: what a robot tells of itself must be so, else its scene is passed over; what it does not tell is noted.
    imperfection: of the demonstrator; None for the plain script. speed, limits_file: narrow the robot's limits."""

    tries: int = 1
    conditions: Mapping[str, str] = field(default_factory=dict)
    consent: Consent | None = None
    imperfection: ImperfectionConfig | None = field(default_factory=ImperfectionConfig)
    speed: float = 1.0
    limits_file: Path | None = None
    seed: int = 0


@dataclass(frozen=True)
class CollectJob:
    """What a worker needs. crew: the robot and its limits."""

    crew: RunnerJob
    config: CollectConfig


Item = tuple[int, int]
"""(episode, tries it has had already)."""


@dataclass(frozen=True)
class Collected:
    """path, digest: of the runlog. tally: of all its episodes that belong to this; None where there are none.
    succeeded: episodes of those planned that have a successful demonstration. fresh: demonstrations made now."""

    path: Path
    digest: str
    robot: str
    tally: Tally | None
    planned: int
    succeeded: int
    fresh: int
    stopped: str = ""


class DemonstrationRunner(EpisodeRunner):
    """A robot and whoever shows how it is done."""

    def __init__(self, job: CollectJob, attention: OperatorInput):
        super().__init__(job.crew, attention)
        self._config = job.config
        self._leader: ScriptedLeader | TeleoperationLeader | None = None

    def __exit__(self, *error: object) -> None:
        if self._leader is not None:
            self._leader.close()
        super().__exit__(*error)

    def show(self, episode: int, tried: int) -> tuple[EpisodeLog, ...]:
        """Tries until one succeeds, or there have been enough."""
        logs: list[EpisodeLog] = []
        for number in range(tried, self._config.tries):
            logs.append(self._first_that_fits(episode, number))
            if logs[-1].outcome == "success" or logs[-1].failure in (*AGAIN, "e_stop"):
                break
        return tuple(logs)

    def _first_that_fits(self, episode: int, number: int) -> EpisodeLog:
        for again in range(MOST_SCENES):
            log = self._try(episode + again * STRIDE, number)
            if log.failure != OTHER:
                return log
        wanted = ", ".join(f"{name}={value}" for name, value in self._config.conditions.items())
        raise UsageError(f"--condition: of {MOST_SCENES} scenes on this robot none is as asked for: {wanted}")

    def _try(self, scene: int, number: int) -> EpisodeLog:
        config, consent = self._config, self._config.consent
        self._attention.estop.refuse()
        about = self._connect()
        leader = self._leader = self._leader or _leader(self._robot, about, config, tasks()[self._job.task])
        leader.number_of_try = number
        ran = run_episode(
            self._robot, leader, self._safety, self._onlooker, self._schedule, self._attention,
            scene=scene, rng=episode_rng(config.seed, scene, stream="demonstration"),
        )  # fmt: skip
        if ran.robot_lost:
            self._connected = False
        told = {name: value for name, value in (consent.columns() if consent else {}).items() if name != PARTICIPANT}
        return replace(
            log_of(ran, about, scene=scene, conditions=config.conditions),
            participant=consent.participant if consent else "",
            columns={"demonstrator": leader.kind, "try": number, "setting/speed": config.speed, **told},
        )


def _leader(
    robot: LiveRobot, about: Description, config: CollectConfig, task: Task
) -> ScriptedLeader | TeleoperationLeader:
    if isinstance(robot, LerobotRobot):
        teleoperation = Teleoperation(robot.config)
        return TeleoperationLeader(teleoperation, about, config.conditions, longest_s=robot.config.episode_s)
    # What is recorded as the action is what was sent: no noise that the action does not know of.
    script = ExpertConfig(action_noise_rad=0.0)
    demonstrator = Demonstrator(about, script, seed=config.seed, task=task, imperfection=config.imperfection)
    return ScriptedLeader(demonstrator, config.conditions)


def show(job: CollectJob, items: Iterator[Item]) -> Iterator[tuple[Item, tuple[EpisodeLog, ...]]]:
    """The work of a process: every episode becomes one or several demonstrations."""
    with ExitStack() as leaving:
        keys = leaving.enter_context(Keys()) if job.crew.attended else None
        attention = OperatorInput(EStop(job.crew.stop_file), keys)
        leaving.enter_context(attention.on_signals())
        studio = DemonstrationRunner(job, attention)
        leaving.enter_context(studio)
        for episode, tried in items:
            logs = studio.show(episode, tried)
            yield (episode, tried), logs
            last = logs[-1].failure if logs else ""
            if last in AGAIN or (attention.estop.latched and not attention.reset_by_hand()):
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
    task: Task = PICK_AND_PLACE,
    on_progress: Callable[[SessionProgress], None] = lambda _: None,
) -> Collected:
    """Demonstrations of the episodes from `first` to `first + episodes`, in the runlog `out`."""
    name = robot if isinstance(robot, str) else ""
    if workers > 1 and name.partition(":")[0] not in SEVERAL:
        raise UsageError(
            f"--workers {workers}: there is one {name or 'robot'}; only {', '.join(SEVERAL)} can be several"
        )
    if config.consent is not None:
        config.consent.require("record", today=datetime.now(UTC).date())  # before anything moves
    live = robot_named(robot) if isinstance(robot, str) else robot
    try:
        about = live.connect()
        latch = stop_file or stop_file_of(about.id)
        EStop(latch).refuse()
        limits = DeployConfig(speed=config.speed, limits_file=config.limits_file, seed=config.seed)
        crew = RunnerJob(live, {}, limits, latch, about, attended, task.name)
        with Runlog.open(out, about, task=task.name, phases=(phase.name for phase in task.phases)) as runlog:
            if workers > 1:
                live.close()  # each worker has one of its own
                crew = replace(crew, robot=name, about=None)
            wanted = range(first, first + episodes)
            return _session(CollectJob(crew, config), runlog, wanted, workers, about.id, on_progress)
    finally:
        live.close()


def _session(
    job: CollectJob,
    runlog: Runlog,
    wanted: range,
    workers: int,
    robot: str,
    on_progress: Callable[[SessionProgress], None],
) -> Collected:
    rows = _rows(runlog, job.config, wanted)
    tried = {each: [row for row in rows if row["scene"] % STRIDE == each] for each in wanted}
    won = {each for each, tries in tried.items() if any(row["outcome"] == "success" for row in tries)}
    settled = {each for each, tries in tried.items() if each in won or len(tries) >= job.config.tries}
    aborted, fresh, stopped = sum(row["outcome"] == "aborted" for row in rows), 0, ""
    items = [(each, len(tried[each])) for each in wanted if each not in settled]
    on_progress(SessionProgress(len(settled), len(wanted), len(won), aborted))
    for (episode, _), logs in run_local(show, job, items, workers=workers) if items else ():
        for log in logs:
            runlog.add(log)
            fresh += 1
            aborted += log.outcome == "aborted"
            stopped = log.outcome_detail if log.failure in (*AGAIN, "e_stop") else stopped
            won |= {episode} if log.outcome == "success" else set()
        if logs and logs[-1].failure not in AGAIN:
            settled.add(episode)
        on_progress(SessionProgress(len(settled), len(wanted), len(won), aborted, logs[-1] if logs else None))
    digest = runlog.finish()
    rows = _rows(runlog, job.config, wanted)
    counted = tally(rows) if rows else None
    done = len(settled) == len(wanted)
    return Collected(runlog.path, digest, robot, counted, len(wanted), len(won), fresh, "" if done else stopped)


def _rows(runlog: Runlog, config: CollectConfig, wanted: range) -> list[dict]:
    """Demonstrations of these episodes that are in the log, those of the same person, without interrupted ones."""
    who = config.consent.participant if config.consent else ""
    return [
        row
        for row in runlog.attempts().to_pylist()
        if row["verdict"] != FORGOTTEN
        and row["scene"] % STRIDE in wanted
        and row["participant"] == who
        and row.get("demonstrator")
        and row["failure"] not in AGAIN
    ]
