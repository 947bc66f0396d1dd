"""One episode on a robot, from the layout of the scene to its judgement, period by period:

observe, look whether it is a new reading and whether anybody wants it stopped, ask who leads, pass the action through
the safety filter, command, wait for the next period. Whatever goes wrong ends the episode with the robot stopped; it is
kept as aborted, with the name of what it was.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from twinloop.dataset.versions import versions
from twinloop.deploy.episode_log import TIMING, EpisodeLog, OutcomeBy, OutcomeWord
from twinloop.deploy.episode_tracker import EpisodeTracker
from twinloop.deploy.freshness import Freshness
from twinloop.deploy.leader import Leader
from twinloop.deploy.operator_input import OperatorInput, Stopped
from twinloop.deploy.reading_check import ReadingCheck
from twinloop.deploy.robot import Briefing, Description, LiveRobot, Reading
from twinloop.deploy.safety.filter import SafetyFilter
from twinloop.deploy.schedule import Deadlines, Schedule
from twinloop.errors import PolicyError, RobotError

UNKNOWN = Briefing("", {})
STATE = "observation.state"


@dataclass(frozen=True)
class EpisodeResult:
    """What came of it. frames: feature -> (n, ...). robot_lost: it has to be connected to again."""

    briefing: Briefing
    frames: Mapping[str, np.ndarray]
    outcome: OutcomeWord
    outcome_by: OutcomeBy
    outcome_detail: str
    last_phase: str
    failure: str
    safety: Mapping[str, int]
    deadlines_missed: int
    interventions: int
    robot_lost: bool = False


class Tape:
    """What is written down of every period."""

    def __init__(self, about: Description):
        self._about = about
        self._rows: list[dict[str, np.ndarray]] = []
        self.safety: dict[str, int] = {}

    def add(self, reading: Reading, *, action: np.ndarray, command: np.ndarray, phase: int, timing: np.ndarray) -> None:
        seen = {feature.name: np.asarray(reading.features[feature.name]) for feature in self._about.observed}
        self._rows.append({**seen, "action": action, "command": command, "phase": np.array(phase), TIMING.name: timing})

    def note_late(self, missed: int) -> None:
        """Of the last period: whether its deadline was kept is known when it is over."""
        self._rows[-1][TIMING.name][TIMING.names.index("late")] = missed > 0

    def count(self, reasons: tuple[str, ...]) -> None:
        for reason in reasons:
            self.safety[reason] = self.safety.get(reason, 0) + 1

    def frames(self) -> dict[str, np.ndarray]:
        about = self._about
        shapes = {feature.name: feature.shape for feature in about.observed}
        shapes |= {"action": about.action.shape, "command": about.action.shape, TIMING.name: TIMING.shape, "phase": ()}
        return {
            name: np.stack([row[name] for row in self._rows]) if self._rows else np.zeros((0, *shape))
            for name, shape in shapes.items()
        }


def run_episode(
    robot: LiveRobot,
    leader: Leader,
    safety: SafetyFilter,
    onlooker: EpisodeTracker,
    schedule: Schedule,
    attention: OperatorInput,
    *,
    scene: int,
    rng: np.random.Generator,
    ask: bool = False,
) -> EpisodeResult:
    """ask: it is for a human to judge, whatever the robot's detector says."""
    about = robot.describe()
    tape, deadlines = Tape(about), Deadlines()
    briefing, robot_lost = UNKNOWN, False
    outcome: OutcomeWord = "aborted"
    by: OutcomeBy = ""
    attention.begin()
    try:
        briefing = robot.begin(scene)
        onlooker.begin(briefing)
        leader.begin(briefing, scene=scene, rng=rng)
        _control(robot, leader, safety, onlooker, schedule, attention, tape, deadlines)
        judged = robot.end()
        why, detail = "", judged.detail
        outcome, by = _judgement(judged.success, leader.said, attention, ask=ask)
        if outcome == "failure":
            why = onlooker.failure()
    except RobotError as error:
        why, detail, robot_lost = "robot_fault", str(error), True
    except PolicyError as error:
        why, detail = "policy_fault", str(error)
    except Stopped as stopped:
        why, detail = stopped.why, stopped.detail
    if outcome == "aborted":
        _halt(robot)
    began = briefing is not UNKNOWN
    return EpisodeResult(
        briefing, tape.frames(), outcome, by, detail, onlooker.last_phase if began else "", why, tape.safety,
        deadlines.missed, attention.interventions, robot_lost,
    )  # fmt: skip


def _control(
    robot: LiveRobot,
    leader: Leader,
    safety: SafetyFilter,
    onlooker: EpisodeTracker,
    schedule: Schedule,
    attention: OperatorInput,
    tape: Tape,
    deadlines: Deadlines,
) -> None:
    about = robot.describe()
    check, fresh = ReadingCheck(about), Freshness()
    command: np.ndarray | None = None
    first: Reading | None = None
    schedule.begin()
    began_s = time.monotonic()
    while True:
        reading = check.see(robot.observe())
        attention.look()
        fresh.see(reading)
        if first is None:
            first = reading
            safety.begin(np.asarray(reading.features.get(STATE, about.home), float))
        if onlooker.look(reading, command) and not leader.ends_itself:
            return
        # Two clocks: how far the robot's has stayed behind ours is how old the reading is at least.
        robot_s = reading.timestamp_s - first.timestamp_s
        waited_s = 0.0 if about.lockstep else max(0.0, time.monotonic() - began_s - robot_s)
        thought = leader.act(reading, attention, schedule.deadline_s)
        if thought.over:
            return
        passed = safety.pass_on(thought.action, reading.features)
        tape.count(passed.reasons)
        if safety.hopeless:
            raise Stopped("force", "it pressed too hard, backed off, and still does")
        command = passed.command
        # Before it is sent: a robot that is lost over a command may have had it.
        tape.add(
            reading, action=passed.action, command=command, phase=onlooker.phase,
            timing=np.array([robot_s, waited_s, thought.thought_s, 0]),
        )  # fmt: skip
        robot.act(command)
        leader.sent(command)
        missed = max(schedule.turn(), int(thought.action is None))
        tape.note_late(missed)
        deadlines.note(missed)


def _judgement(
    success: bool | None, said: bool | None, attention: OperatorInput, *, ask: bool
) -> tuple[OutcomeWord, OutcomeBy]:
    """A human counts more than a detector, and is asked where that can tell nothing."""
    words: dict[bool | None, OutcomeWord] = {True: "success", False: "failure", None: "unknown"}
    if said is None and (ask or success is None) and attention.keys is not None:
        said = attention.ask_outcome()
        if said is None:
            return "unknown", ""
    if said is not None:
        return words[said], "human"
    return words[success], "detector" if success is not None else ""


def _halt(robot: LiveRobot) -> None:
    """Twice, in case a message is lost: a robot that is gone cannot be told, and whoever stops it is not stopped by
    that."""
    for _ in range(2):
        with suppress(RobotError):
            robot.stop()


def log_of(ran: EpisodeResult, about: Description, *, scene: int, conditions: Mapping[str, str]) -> EpisodeLog:
    """For the runlog, now that it has ended; who led is for the caller to add. conditions: noted beside the robot's."""
    return EpisodeLog(
        robot_id=about.id,
        briefing=_with_conditions(ran.briefing, conditions),
        frames=ran.frames,
        outcome=ran.outcome,
        outcome_by=ran.outcome_by,
        outcome_detail=ran.outcome_detail,
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        scene=scene,
        last_phase=ran.last_phase,
        failure=ran.failure,
        interventions=ran.interventions,
        safety=ran.safety,
        deadlines_missed=ran.deadlines_missed,
        versions=versions((), films=False),
    )


def _with_conditions(briefing: Briefing, conditions: Mapping[str, str]) -> Briefing:
    """What somebody notes down beside what the robot knows; theirs counts."""
    return replace(briefing, conditions={**briefing.conditions, **conditions})
