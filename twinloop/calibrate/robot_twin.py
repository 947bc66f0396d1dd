"""RobotTwin: the twin of a robot, from the policies' trials on it in several rounds.

1. A diagnosis of the trials says which gaps are open.
2. The rows of these gaps are fitted together to the logs of all rounds (`by_traits.py`), and to the demonstrations if
   there are enough of them. When a round has collected more demonstrations, the fit is repeated with these.
3. Constant errors of tracker and encoders are taken from the demonstrations (`sensor_offsets.py`).
4. The next data is generated in the fitted twin, unless the policy fails more often there than on the robot.
5. Without such a fit, the fitted twin of the last round is kept if it predicted the robot's success. Otherwise ranges
   change by the diagnosis; and if its explanation does not predict the robot's success, they stay as they are.

A round in which the known gaps can be fitted needs no new diagnosis. A twin in which the scripted expert hardly
succeeds is not used: people can demonstrate on the robot.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from twinloop.calibrate.by_discriminator import MIN_REAL, TraitSimulator
from twinloop.calibrate.by_traits import FittedTwin, fails_more, fit_twin, fitted_columns, succeeds_more
from twinloop.calibrate.fitted_twin import FITTED, read_fitted, with_fitted, write_fitted
from twinloop.calibrate.robot_session import calibrated_config
from twinloop.calibrate.sensor_offsets import OFFSET_ROWS, sensor_offsets
from twinloop.curate.rates import Rate
from twinloop.deploy.demonstration_budget import demonstrations_in
from twinloop.diagnose.causes import VARYING
from twinloop.diagnose.layout import as_laid_out
from twinloop.diagnose.report import GapReport, read_report
from twinloop.diagnose.widening import SUSPECTED, widen_by_diagnosis
from twinloop.learn.candidate import candidate_of
from twinloop.randomize.parameter import Gap
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig, load_config
from twinloop.run.randomization import ordered_rows

CALIBRATION, DIAGNOSIS, REPORT, CONFIG = "calibration", "diagnosis", "report.json", "config.yaml"
FITTED_WITH_DEMONSTRATIONS = "fitted_with_demonstrations.json"
TRIED, DEMONSTRABLE = 32, 0.25
"""Episodes of the scripted expert in a new twin, and the share that must succeed."""
KEPT = "The explanation does not predict the robot's success, so the ranges stay as they are."


@dataclass(frozen=True)
class Trials:
    """The trials of a policy on the robot.

    Attributes:
        folder: of the round, for its config, diagnosis, calibration and fit.
        twin, robot: success of the policy in the twin of the round and on the robot; None as long as the round goes on.
    """

    folder: Path
    policy: Path
    runlog: Path
    twin: Rate | None = None
    robot: Rate | None = None


class RobotTwin:
    """The twin of a robot.

    Args:
        first: the config of the first round.
        trials: those of all rounds so far. The last ones are explained.
    """

    def __init__(self, first: RunConfig, trials: Sequence[Trials]):
        self._first, self._trials, self._last = first, trials, trials[-1]

    @cached_property
    def _laid_out(self) -> RunConfig:
        """The first config with the layout of the logged scenes. It is seen directly, without an explanation."""
        return as_laid_out(self._first, self._last.runlog)

    @property
    def fitted(self) -> FittedTwin | None:
        """The twin that is fitted to the logs, if one can be used: with the latest demonstrations or without them.

        The last policy must not fail in it more often than on the robot, and the scripted expert must succeed.
        """
        files = (read_fitted(self._last.folder / name) for name in (FITTED_WITH_DEMONSTRATIONS, FITTED))
        return next((fitted for fitted in files if fitted is not None and self._can_be_used(fitted)), None)

    @property
    def kept(self) -> RunConfig | None:
        """The config of the last round, if it is a fitted twin that predicted the success on the robot; else None.

        The errors of such a twin do not limit the policy, so the ranges of a diagnosis must not replace it.
        """
        last = self._last
        if last.twin is None or last.robot is None:
            return None
        config = load_config(last.folder / CONFIG)
        if config.fill is None or config.fill == self._first.fill:
            return None
        return None if fails_more(last.twin, last.robot) or succeeds_more(last.twin, last.robot) else config

    @property
    def is_fitted(self) -> bool:
        """Whether the next data is generated in a fitted twin."""
        return self.fitted is not None or self.kept is not None

    def _can_be_used(self, fitted: FittedTwin) -> bool:
        return not fitted.too_severe and can_be_demonstrated(with_fitted(self._base()[0], fitted))

    def explain(
        self,
        diagnose: Callable[[RunConfig], GapReport],
        calibrate: Callable[[RunConfig, GapReport], None],
        demonstrations: Sequence[Path] = (),
        *,
        seed: int,
    ) -> GapReport | None:
        """Explain the last trials; None if a fit of the gaps of an earlier diagnosis does.

        Args:
            diagnose: diagnoses the last trials with a config, and stores the report.
            calibrate: carries out the calibration that a report asks for.
            demonstrations: runlogs of earlier demonstrations by somebody who sees the scene.
        """
        report = self._last_report()
        if report is not None and not (self._last.folder / DIAGNOSIS / REPORT).exists():
            self._fit(report, demonstrations, FITTED, seed=seed)
            if self.fitted is not None:
                return None
            (self._last.folder / FITTED).unlink(missing_ok=True)
        report = diagnose(self._first)
        calibrate(self._first, report)
        self._fit(report, demonstrations, FITTED, seed=seed)
        return report

    def next_config(self, demonstrations: Sequence[Path] = (), *, seed: int = 0) -> RunConfig:
        """The config with which the next data is generated.

        Args:
            demonstrations: runlogs of all demonstrations by somebody who sees the scene.
        """
        if (report := self._last_report()) is not None and _enough(demonstrations):
            self._fit(report, demonstrations, FITTED_WITH_DEMONSTRATIONS, seed=seed)
        if (fitted := self.fitted) is not None:
            return with_fitted(self._base()[0], self._with_sensor_offsets(fitted, demonstrations, seed=seed))
        if (kept := self.kept) is not None:
            return kept
        folder = self._diagnosed_folder()
        assert folder is not None  # `explain` diagnoses where a fit cannot be used
        calibrated, rows = self._calibrated(folder)
        config = diagnosed_config(calibrated, read_report(folder / DIAGNOSIS), calibrated=rows)
        return config if can_be_demonstrated(config) else self._laid_out

    def _with_sensor_offsets(self, fitted: FittedTwin, demonstrations: Sequence[Path], *, seed: int) -> FittedTwin:
        """The fitted twin with the offsets of sensors that demonstrations show, if its sensors are fitted at all.

        Offsets are what remains beside the fitted rows: a servo that is softer than the twin's looks like one too.
        """
        others = {name: values for name, values in fitted.values.items() if name.partition(".")[0] not in OFFSET_ROWS}
        if len(others) == len(fitted.values):
            return fitted
        folder = self._diagnosed_folder()
        config = self._laid_out if folder is None else self._calibrated(folder)[0]
        config = with_fitted(config, replace(fitted, values=others)) if others else config
        offsets = sensor_offsets(config, demonstrations, seed=seed)
        if offsets is None:
            return fitted
        samples = offsets.samples(len(next(iter(fitted.values.values()))), np.random.default_rng(seed))
        return replace(fitted, values={**fitted.values, **samples})

    def verdict(self, report: GapReport | None) -> str:
        """The verdict of the diagnosis, and the use that is made of it."""
        text = "" if report is None else report.verdict()
        if (fitted := self.fitted) is not None:
            success = fitted.success
            rate = f"{success.successes} of {success.trials}"
            more = "" if fitted.predicts_success else ", so something else makes it fail on the robot"
            return f"{text} The twin is fitted to the logs; the policy succeeds in {rate} episodes there{more}.".strip()
        return text if report is None or report.predicts_success else f"{text} {KEPT}"

    def _fit(self, report: GapReport, demonstrations: Sequence[Path], name: str, *, seed: int) -> None:
        """Fit the suspected gaps to all trials, and to demonstrations if there are enough. Writes the file once."""
        file = self._last.folder / name
        if file.exists():
            return
        config, calibrated = self._base()
        columns = fitted_columns(config, suspected_gaps(report))
        columns = [column for column in columns if column.name.partition(".")[0] not in calibrated]
        if not columns:
            return
        logs = [(trials.runlog, candidate_of(trials.policy)) for trials in self._trials]
        shown = demonstrations if _enough(demonstrations) else ()
        write_fitted(fit_twin(config, logs, columns, seed=seed, demonstrations=shown), file)

    def _last_report(self) -> GapReport | None:
        folder = self._diagnosed_folder()
        return None if folder is None else read_report(folder / DIAGNOSIS)

    def _diagnosed_folder(self) -> Path | None:
        folders = [trials.folder for trials in reversed(self._trials)]
        return next((folder for folder in folders if (folder / DIAGNOSIS / REPORT).exists()), None)

    def _base(self) -> tuple[RunConfig, frozenset[str]]:
        """The config to which fitted rows are added, and the rows that are calibrated already.

        It has the layout of the scenes as it is seen, the last calibration, and the ranges of the last diagnosis for
        other rows that differ from episode to episode.
        """
        folder, report = self._diagnosed_folder(), self._last_report()
        if folder is None or report is None:
            return self._laid_out, frozenset()
        config, calibrated = self._calibrated(folder)
        findings = tuple(
            finding if finding.gap in VARYING else replace(finding, probability=0.0, differs=0.0)
            for finding in report.findings
        )
        widened = widen_by_diagnosis(config, replace(report, findings=findings), calibrated=calibrated)
        ranges = {name: kept for name, kept in widened.randomization.items() if not BY_NAME[name].lays_out}
        layout = {name: seen for name, seen in config.randomization.items() if BY_NAME[name].lays_out}
        return replace(widened, randomization=ordered_rows(ranges | layout)), calibrated

    def _calibrated(self, folder: Path) -> tuple[RunConfig, frozenset[str]]:
        """The config with the layout that is seen and the calibration of a round, and the rows that this sets."""
        config, rows = calibrated_config(self._laid_out, folder / CALIBRATION)
        return (config, rows) if not rows or can_be_demonstrated(config) else (self._laid_out, frozenset())


def _enough(demonstrations: Sequence[Path]) -> bool:
    return sum(map(demonstrations_in, demonstrations)) >= MIN_REAL


def can_be_demonstrated(config: RunConfig) -> bool:
    """Whether the scripted expert succeeds in enough simulated episodes to learn from."""
    traces = TraitSimulator(config, {}, None, seed=config.rollout.seed).traces(TRIED)
    return sum(trace.success for trace in traces) >= DEMONSTRABLE * TRIED


def suspected_gaps(report: GapReport) -> dict[Gap, float]:
    """Gap -> probability that the robot differs in it. Gaps whose errors vary are left out: they cannot be fitted."""
    suspected: dict[Gap, float] = {}
    for finding in report.findings:
        probability = max(finding.probability, finding.differs)
        if probability >= SUSPECTED and finding.gap not in VARYING:
            suspected[finding.gap] = probability
    return suspected


def diagnosed_config(config: RunConfig, report: GapReport, *, calibrated: frozenset[str]) -> RunConfig:
    """The config with the ranges of a diagnosis; unchanged if its explanation does not predict the robot's success."""
    return widen_by_diagnosis(config, report, calibrated=calibrated) if report.predicts_success else config
