"""A session: policies take turns on a robot in each scene. Every episode is committed to a runlog when it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from twinloop.deploy.deployed_task import deployed_task, task_for
from twinloop.deploy.episode_log import EpisodeLog
from twinloop.deploy.episode_runner import DeployConfig, RunnerJob, Turn, bounds_for, run_episodes
from twinloop.deploy.estop import EStop, stop_file_of
from twinloop.deploy.keys import terminal
from twinloop.deploy.policy.client import OWN, PolicyProcess
from twinloop.deploy.policy.facts import PolicyFacts
from twinloop.deploy.robot import Description, LiveRobot
from twinloop.deploy.robots import SEVERAL, robot_named, with_scene
from twinloop.deploy.runlog import Runlog
from twinloop.deploy.tally import Tally, is_success, tally
from twinloop.errors import UsageError
from twinloop.fleet.local import run_local
from twinloop.gate.permit import Permit, RegistryEntry, model_of, permit_for, reserve, ungated
from twinloop.gate.robot_identity import RobotIdentity
from twinloop.learn.card import read_card
from twinloop.randomize.draw import episode_rng
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


PolicySource = Path | RegistryEntry
"""A policy by the path of its checkpoint or exported file (simulated robots only), or by its name in a registry."""


def deploy(
    policies: Mapping[str, PolicySource],
    robot: str | LiveRobot,
    out: Path,
    *,
    episodes: int,
    first: int = 0,
    config: DeployConfig = DeployConfig(),  # noqa: B008
    stop_file: Path | None = None,
    workers: int = 1,
    attended: bool = False,
    task: str | None = None,
    on_progress: Callable[[SessionProgress], None] = lambda _: None,
    program: tuple[str, ...] = OWN,
) -> DeployResult:
    """Run each policy in the scenes `first` to `first + episodes - 1` and log them in `out`.

    The gate decides: each policy needs a permit for this robot, and the permit's limits hold. A policy that is named by
    a path is ungated: only simulated robots accept it, and its episodes are no evidence for production.

    Several policies take turns in an order that is drawn for each scene, so that drift during a session affects all of
    them equally. A second call continues the session: turns that are in the log are not repeated.

    Args:
        task: default: the task that the robot is set up for, else pick_and_place.
    """
    name = robot if isinstance(robot, str) else ""
    if workers > 1 and name.partition(":")[0] not in SEVERAL:
        valid = ", ".join(SEVERAL)
        raise UsageError(
            f"--workers {workers}: {name or 'this robot'} allows one worker; several are possible with {valid}"
        )
    if task is not None:
        deployed_task(task)
    live: LiveRobot | None = None
    processes: dict[str, PolicyProcess] = {}
    try:
        if isinstance(robot, str):
            # A rehearsal cell takes the robot of the policy and this task, unless its name has others.
            first_policy = next(iter(policies.values()))
            model = _model_of(first_policy, program)
            robot = name = with_scene(robot, robot=model, task=task or PICK_AND_PLACE.name)
        live = robot_named(robot)
        about = live.connect()
        identity, task = about.identity, task_for(about, task)
        permits = {arm: _permit(source, about) for arm, source in policies.items()}
        _refuse_unattended(permits, identity, attended, workers)
        paths = {arm: permit.path for arm, permit in permits.items()}
        processes |= {arm: PolicyProcess(path, program=program) for arm, path in paths.items()}
        facts = {arm: process.known() for arm, process in processes.items()}
        latch = stop_file or stop_file_of(about.id)
        job = RunnerJob(live, processes, config, latch, about, attended, task, program, permits)
        EStop(job.stop_file).refuse()
        # Invalid limits and unfit policies raise before anything is written.
        bounds_for(about, config, permits.values())
        for fact in facts.values():
            fact.refuse_misfit(about)
        phases = deployed_task(task).phase_names
        with Runlog.open(out, about, task=task, phases=phases) as runlog:
            entries = {arm: source for arm, source in policies.items() if isinstance(source, RegistryEntry)}
            if workers > 1:
                live.close()  # each worker connects its own robot
                job = replace(job, robot=name, policies=paths, about=None)
            return _session(job, runlog, facts, entries, episodes, first, workers, identity, on_progress)
    finally:
        for process in processes.values():
            process.end()
        if live is not None:
            live.close()


def _model_of(source: PolicySource, program: tuple[str, ...]) -> str:
    """The robot model that a policy was trained for, known before a robot is connected."""
    if isinstance(source, RegistryEntry):
        return model_of(source)
    if source.is_dir():
        return read_card(source).space.robot
    process = PolicyProcess(source, program=program)
    try:
        return process.known().space.robot
    finally:
        process.end()


def _permit(source: PolicySource, about: Description) -> Permit:
    if isinstance(source, RegistryEntry):
        return permit_for(source, about.identity, twin=about.twin_digest, episodes=0)
    return ungated(source, about.identity)


def _refuse_unattended(permits: Mapping[str, Permit], robot: RobotIdentity, attended: bool, workers: int) -> None:
    """On hardware, a stage that demands an operator needs a terminal with the stop keys."""
    if robot.simulated:
        return
    if workers > 1:
        raise UsageError(f"--workers {workers}: {robot.id} is hardware and allows one worker")
    demanding = [permit for permit in permits.values() if permit.limits is not None and permit.limits.attended]
    if demanding and not (attended and terminal()):
        raise UsageError(
            f"{robot.id}: the decision for {demanding[0].checkpoint[:12]} ({demanding[0].stage}) demands an operator "
            "with the stop keys; run this command in a terminal"
        )


def _session(
    job: RunnerJob,
    runlog: Runlog,
    facts: Mapping[str, PolicyFacts],
    entries: Mapping[str, RegistryEntry],
    episodes: int,
    first: int,
    workers: int,
    robot: RobotIdentity,
    on_progress: Callable[[SessionProgress], None],
) -> DeployResult:
    turns = _turns(job, episodes, first)
    planned = set(turns)
    rows = [row for row in runlog.attempts().to_pylist() if _turn(row, facts) in planned]
    done = {_turn(row, facts) for row in rows if row["failure"] not in AGAIN}
    left = [turn for turn in turns if turn not in done]
    for arm, entry in entries.items():
        permit = job.permits[arm]
        logged = sum(row["gate/decision"] == permit.decision for row in runlog.attempts().to_pylist())
        fresh_turns = sum(arm == turn_arm for _, turn_arm in left)
        if fresh_turns:
            reserve(entry, permit, runlog.path, robot, episodes=logged + fresh_turns)
    successes, aborted = sum(map(is_success, rows)), sum(row["outcome"] == "aborted" for row in rows)
    count, fresh, stopped = len(turns) - len(left), 0, ""
    on_progress(SessionProgress(count, len(turns), successes, aborted))
    for _, log in run_local(run_episodes, job, left, workers=workers) if left else ():
        runlog.add(log)
        fresh += 1
        if log.failure in (*AGAIN, "e_stop"):
            stopped = log.outcome_detail
        count += log.failure not in AGAIN
        successes += log.outcome == "success" and not log.interventions
        aborted += log.outcome == "aborted"
        on_progress(SessionProgress(count, len(turns), successes, aborted, log))
        for permit in job.permits.values():
            permit.refuse_expired(datetime.now(UTC))
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
    return DeployResult(runlog.path, digest, robot.id, tallies, len(turns), fresh, stopped)


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
