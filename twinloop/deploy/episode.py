"""Runs one episode on a robot, from scene layout to outcome.

Each control period: read the sensors, check that the reading is new, poll the operator's input, get the leader's
action, pass it through the safety filter, send the command, wait for the next period. Any fault stops the robot; the
episode is then logged as aborted, with the name of the fault.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from twinloop.dataset.versions import versions
from twinloop.deploy.episode_log import BY_HUMAN, TIMING, EpisodeLog, OutcomeBy, OutcomeWord
from twinloop.deploy.episode_tracker import EpisodeTracker
from twinloop.deploy.freshness import Freshness
from twinloop.deploy.leader import Leader
from twinloop.deploy.operator_input import EpisodeStopped, OperatorInput
from twinloop.deploy.reading_check import ReadingCheck
from twinloop.deploy.robot import Briefing, Description, LiveRobot, Reading
from twinloop.deploy.safety.filter import SafetyFilter
from twinloop.deploy.schedule import Deadlines, Schedule
from twinloop.errors import PolicyError, RobotError

UNKNOWN = Briefing("", {})
STATE = "observation.state"


@dataclass(frozen=True)
class EpisodeResult:
    """The result of an episode. frames: feature -> (n, ...). robot_lost: the robot must be reconnected."""

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


class EpisodeBuffer:
    """Collects the frames and safety counts of an episode."""

    def __init__(self, about: Description):
        self._about = about
        self._rows: list[dict[str, np.ndarray]] = []
        self.safety: dict[str, int] = {}

    def add(
        self,
        reading: Reading,
        *,
        action: np.ndarray,
        command: np.ndarray,
        phase: int,
        timing: np.ndarray,
        by_human: bool,
    ) -> None:
        row = {feature.name: np.asarray(reading.features[feature.name]) for feature in self._about.observed}
        row |= {"action": action, "command": command, "phase": np.array(phase)}
        self._rows.append(row | {TIMING.name: timing, BY_HUMAN.name: np.array(by_human)})

    def note_late(self, missed: int) -> None:
        """Mark the last period as late; that is known only after it has ended."""
        self._rows[-1][TIMING.name][TIMING.names.index("late")] = missed > 0

    def count(self, reasons: tuple[str, ...]) -> None:
        for reason in reasons:
            self.safety[reason] = self.safety.get(reason, 0) + 1

    def frames(self) -> dict[str, np.ndarray]:
        about = self._about
        shapes = {feature.name: feature.shape for feature in about.observed}
        shapes |= {"action": about.action.shape, "command": about.action.shape, TIMING.name: TIMING.shape}
        shapes |= {"phase": (), BY_HUMAN.name: ()}
        return {
            name: np.stack([row[name] for row in self._rows]) if self._rows else np.zeros((0, *shape))
            for name, shape in shapes.items()
        }


def run_episode(
    robot: LiveRobot,
    leader: Leader,
    safety: SafetyFilter,
    tracker: EpisodeTracker,
    schedule: Schedule,
    operator: OperatorInput,
    *,
    scene: int,
    rng: np.random.Generator,
    ask: bool = False,
) -> EpisodeResult:
    """Run one episode. ask: a human judges the outcome, even if the robot's detector can."""
    about = robot.describe()
    buffer, deadlines = EpisodeBuffer(about), Deadlines()
    briefing, robot_lost = UNKNOWN, False
    outcome: OutcomeWord = "aborted"
    by: OutcomeBy = ""
    operator.begin()
    try:
        briefing = robot.begin(scene)
        tracker.begin(briefing)
        leader.begin(briefing, scene=scene, rng=rng)
        _control(robot, leader, safety, tracker, schedule, operator, buffer, deadlines)
        judged = robot.end()
        why, detail = "", judged.detail
        outcome, by = _judgement(judged.success, leader.judged_success, operator, ask=ask)
        if outcome == "failure":
            why = judged.failure or tracker.failure()
    except RobotError as error:
        why, detail, robot_lost = "robot_fault", str(error), True
    except PolicyError as error:
        why, detail = "policy_fault", str(error)
    except EpisodeStopped as stopped:
        why, detail = stopped.why, stopped.detail
    if outcome == "aborted":
        _halt(robot)
    began = briefing is not UNKNOWN
    return EpisodeResult(
        briefing, buffer.frames(), outcome, by, detail, tracker.last_phase if began else "", why, buffer.safety,
        deadlines.missed, operator.interventions, robot_lost,
    )  # fmt: skip


def _control(
    robot: LiveRobot,
    leader: Leader,
    safety: SafetyFilter,
    tracker: EpisodeTracker,
    schedule: Schedule,
    operator: OperatorInput,
    buffer: EpisodeBuffer,
    deadlines: Deadlines,
) -> None:
    about = robot.describe()
    check, fresh = ReadingCheck(about), Freshness()
    command: np.ndarray | None = None
    first: Reading | None = None
    schedule.begin()
    began_s = time.monotonic()
    while True:
        reading = safety.slowed(check.see(robot.observe()))
        operator.look()
        fresh.see(reading)
        if first is None:
            first = reading
            safety.begin(np.asarray(reading.features.get(STATE, about.home), float))
        if reading.over or ((tracker.look(reading, command) or operator.enough) and not leader.ends_itself):
            return
        # The robot's clock may lag behind ours; the lag is a lower bound of the reading's age.
        robot_s = reading.timestamp_s - first.timestamp_s
        waited_s = 0.0 if about.lockstep else max(0.0, time.monotonic() - began_s - robot_s)
        decision = leader.act(reading, operator, schedule.deadline_s)
        if decision.over:
            return
        filtered = safety.pass_on(decision.action, reading.features)
        buffer.count(filtered.reasons)
        if safety.hopeless:
            raise EpisodeStopped("force", "contact force stayed above the limit after backing off")
        command = filtered.command
        # Logged before it is sent: a robot that is lost while it is sent may have executed it.
        buffer.add(
            reading, action=filtered.action, command=command, phase=tracker.phase,
            timing=np.array([robot_s, waited_s, decision.thought_s, 0]), by_human=decision.by_human,
        )  # fmt: skip
        robot.act(command)
        leader.sent(command)
        missed = max(schedule.turn(), int(decision.action is None))
        buffer.note_late(missed)
        deadlines.note(missed)


def _judgement(
    success: bool | None, judged: bool | None, operator: OperatorInput, *, ask: bool
) -> tuple[OutcomeWord, OutcomeBy]:
    """A human's judgement overrides the detector's. The human is asked if the detector cannot tell."""
    words: dict[bool | None, OutcomeWord] = {True: "success", False: "failure", None: "unknown"}
    if judged is None and (ask or success is None) and operator.keys is not None:
        judged = operator.ask_outcome()
        if judged is None:
            return "unknown", ""
    if judged is not None:
        return words[judged], "human"
    return words[success], "detector" if success is not None else ""


def _halt(robot: LiveRobot) -> None:
    """Send stop twice, in case one message is lost. Errors of a lost robot are ignored."""
    for _ in range(2):
        with suppress(RobotError):
            robot.stop()


def log_of(result: EpisodeResult, about: Description, *, scene: int, conditions: Mapping[str, str]) -> EpisodeLog:
    """Return the log of an ended episode. conditions: recorded in addition to the robot's. The caller adds who led."""
    return EpisodeLog(
        robot_id=about.id,
        briefing=_with_conditions(result.briefing, conditions),
        frames=result.frames,
        outcome=result.outcome,
        outcome_by=result.outcome_by,
        outcome_detail=result.outcome_detail,
        recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        scene=scene,
        last_phase=result.last_phase,
        failure=result.failure,
        interventions=result.interventions,
        safety=result.safety,
        deadlines_missed=result.deadlines_missed,
        versions=versions((), films=False),
    )


def _with_conditions(briefing: Briefing, conditions: Mapping[str, str]) -> Briefing:
    """Add the given conditions to the robot's; a given one overrides the robot's."""
    return replace(briefing, conditions={**briefing.conditions, **conditions})
