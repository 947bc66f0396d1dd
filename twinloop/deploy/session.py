"""A session: policies take turns on a robot in each scene. Every episode is committed to a runlog when it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from twinloop.deploy.episode_log import EpisodeLog
from twinloop.deploy.episode_runner import DeployConfig, RunnerJob, Turn, bounds_for, run_episodes
from twinloop.deploy.estop import EStop, stop_file_of
from twinloop.deploy.policy.client import OWN, PolicyProcess
from twinloop.deploy.policy.facts import PolicyFacts
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.robots import SEVERAL, robot_named, with_scene
from twinloop.deploy.runlog import Runlog
from twinloop.deploy.tally import Tally, tally
from twinloop.errors import UsageError, nearest
from twinloop.fleet.local import run_local
from twinloop.randomize.draw import episode_rng
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

AGAIN = ("interrupted",)
"""Failure names of episodes that are repeated: an interruption by the user says nothing about the policy."""


@dataclass(frozen=True)
class DeployResult:
    """The result of a session.

    Attributes:
        path, digest: of the runlog.
        tallies: one per policy, over all turns of this session, including those of earlier calls.
        fresh: number of episodes that this call ran.
        stopped: why the session ended early, or "".
    """

    path: Path
    digest: str
    robot: str
    tallies: tuple[Tally, ...]
    planned: int
    fresh: int
    stopped: str = ""


@dataclass(frozen=True)
class SessionProgress:
    """Progress of a session. done, planned: numbers of turns. last: the episode that has just ended."""

    done: int
    planned: int
    successes: int
    aborted: int
    last: EpisodeLog | None = None


def deploy(
    policies: Mapping[str, Path],
    robot: str | LiveRobot,
    out: Path,
    *,
    episodes: int,
    first: int = 0,
    config: DeployConfig = DeployConfig(),  # noqa: B008
    stop_file: Path | None = None,
    workers: int = 1,
    attended: bool = False,
    task: str = PICK_AND_PLACE.name,
    on_progress: Callable[[SessionProgress], None] = lambda _: None,
    program: tuple[str, ...] = OWN,
) -> DeployResult:
    """Run each policy (arm -> checkpoint) in the scenes `first` to `first + episodes - 1` and log them in `out`.

    Several policies take turns in an order that is drawn for each scene, so that drift during a session affects all of
    them equally. A second call continues the session: turns that are in the log are not repeated.
    """
    name = robot if isinstance(robot, str) else ""
    if workers > 1 and name.partition(":")[0] not in SEVERAL:
        valid = ", ".join(SEVERAL)
        raise UsageError(
            f"--workers {workers}: {name or 'this robot'} allows one worker; several are possible with {valid}"
        )
    if task not in tasks():
        raise UsageError(f"--task {task!r}: {nearest(task, tasks())}")
    live: LiveRobot | None = None
    processes = {arm: PolicyProcess(path, program=program) for arm, path in policies.items()}
    try:
        facts = {arm: process.known() for arm, process in processes.items()}
        if isinstance(robot, str):
            # A rehearsal cell takes the robot of the policy and this task, unless its name has others.
            model = next(iter(facts.values())).space.robot
            robot = name = with_scene(robot, robot=model, task=task)
        live = robot_named(robot)
        about = live.connect()
        latch = stop_file or stop_file_of(about.id)
        job = RunnerJob(live, processes, config, latch, about, attended, task, program)
        EStop(job.stop_file).refuse()
        # Invalid limits and unfit policies raise before anything is written.
        bounds_for(about, config)
        for fact in facts.values():
            fact.refuse_misfit(about)
        phases = tasks()[task].phase_names
        with Runlog.open(out, about, task=task, phases=phases) as runlog:
            if workers > 1:
                live.close()  # each worker connects its own robot
                job = replace(job, robot=name, policies=policies, about=None)
            return _session(job, runlog, facts, episodes, first, workers, about.id, on_progress)
    finally:
        for process in processes.values():
            process.end()
        if live is not None:
            live.close()


def _session(
    job: RunnerJob,
    runlog: Runlog,
    facts: Mapping[str, PolicyFacts],
    episodes: int,
    first: int,
    workers: int,
    robot_id: str,
    on_progress: Callable[[SessionProgress], None],
) -> DeployResult:
    turns = _turns(job, episodes, first)
    planned = set(turns)
    rows = [row for row in runlog.attempts().to_pylist() if _turn(row, facts) in planned]
    done = {_turn(row, facts) for row in rows if row["failure"] not in AGAIN}
    left = [turn for turn in turns if turn not in done]
    successes, aborted = (sum(row["outcome"] == outcome for row in rows) for outcome in ("success", "aborted"))
    count, fresh, stopped = len(turns) - len(left), 0, ""
    on_progress(SessionProgress(count, len(turns), successes, aborted))
    for _, log in run_local(run_episodes, job, left, workers=workers) if left else ():
        runlog.add(log)
        fresh += 1
        if log.failure in (*AGAIN, "e_stop"):
            stopped = log.outcome_detail
        count += log.failure not in AGAIN
        successes += log.outcome == "success"
        aborted += log.outcome == "aborted"
        on_progress(SessionProgress(count, len(turns), successes, aborted, log))
    if count == len(turns):
        stopped = ""
    elif not stopped and EStop(job.stop_file).latched:
        stopped = f"e-stop: {EStop(job.stop_file).reason()}"
    digest = runlog.finish()
    rows = [
        row for row in runlog.attempts().to_pylist() if _turn(row, facts) in planned and row["failure"] not in AGAIN
    ]
    of_arms = [[row for row in rows if row["arm"] == arm] for arm in job.policies]
    tallies = tuple(tally(rows_of_arm) for rows_of_arm in of_arms if rows_of_arm)
    return DeployResult(runlog.path, digest, robot_id, tallies, len(turns), fresh, stopped)


def _turns(job: RunnerJob, episodes: int, first: int) -> list[Turn]:
    arms = list(job.policies)
    turns = []
    for scene in range(first, first + episodes):
        order = episode_rng(job.config.seed, scene, stream="arms").permutation(len(arms))
        turns += [(scene, arms[place]) for place in order]
    return turns


def _turn(row: Mapping, facts: Mapping[str, PolicyFacts]) -> Turn | None:
    """Return the turn of a row of the log, or None if it belongs to another policy."""
    arm = str(row["arm"])
    return (int(row["scene"]), arm) if arm in facts and row["checkpoint"] == facts[arm].digest else None
