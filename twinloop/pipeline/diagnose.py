"""Diagnose: from runlogs to a GapReport: what the robot showed, held against the twin and its counterfactuals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.dataset import Dataset
from twinloop.dataset.people.consent import require_consent
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.diagnose.bank import Bank
from twinloop.diagnose.conditions import looks
from twinloop.diagnose.counterfactuals import CounterfactualJob, imagine
from twinloop.diagnose.findings import as_distribution, evidence_of, finding_of
from twinloop.diagnose.hypothesis import Hypothesis
from twinloop.diagnose.make_bank import make_bank
from twinloop.diagnose.posterior import GapPosterior, weigh
from twinloop.diagnose.report import GapReport, Unmodelled
from twinloop.diagnose.snapshots import camera_names, logged
from twinloop.diagnose.summary import TraitSummary, summarised
from twinloop.diagnose.traits import TRAITS, Arm, EpisodeTrace, measured
from twinloop.errors import UsageError
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.gate.runlog_evidence import all_episodes, load_runlog
from twinloop.learn.candidate import Candidate, refuse_misfit
from twinloop.learn.chunks import ActingConfig
from twinloop.randomize.distribution import Constant, Distribution
from twinloop.randomize.parameter import Gap
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of

FRAMES = ("observation.state", "observation.effort", "observation.environment_state", "action", "command")
LEAST_EPISODES = 8
SURPRISING = 3.0
"""Squared deviations a trait that are left, beyond which something is unmodelled."""


@dataclass(frozen=True)
class DiagnoseConfig:
    """worlds: of each gap. episodes: of each world. tried: episodes for each trial of the explanation; 0: none."""

    worlds: int = 24
    episodes: int = 16
    tried: int = 48
    seed: int = 2_000_003


def diagnose(
    runlogs: Sequence[Path],
    candidate: Candidate,
    config: RunConfig,
    *,
    config_name: str,
    cache: Path,
    settings: DiagnoseConfig = DiagnoseConfig(),  # noqa: B008
    workers: int | None = None,
    acting: ActingConfig = ActingConfig(),  # noqa: B008
    executor: Executor = LOCAL,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> GapReport:
    twin = twin_of(config)
    refuse_misfit(candidate, config, twin, config_name=config_name)
    logs = [load_runlog(path) for path in runlogs]
    datasets = [Dataset.open(log.path) for log in logs]
    seen = camera_names(config.cameras, datasets)
    real, shown = read_episodes(datasets, all_episodes(logs), candidate, Arm(twin), twin.robot.name, cameras=seen)
    bank = make_bank(
        candidate, config, folder=cache, cameras=seen, worlds=settings.worlds, episodes=settings.episodes,
        seed=settings.seed, workers=workers, acting=acting, executor=executor, on_progress=on_progress,
    )  # fmt: skip
    traits = measured(shown)
    summary = summarised(traits)
    weighed = weigh(bank, summary)
    report = _report(real, logs, traits, summary, bank, weighed, config, twin.task.phases)
    report = replace(report, subject={
        "checkpoint": candidate.name, "checkpoint_digest": candidate.digest, "config": config_name,
        "config_digest": config.digest, "robot": twin.robot.name,
        "runlogs": [{"path": str(log.path), "digest": log.digest} for log in logs],
        "worlds": settings.worlds, "episodes": settings.episodes, "seed": settings.seed,
    })  # fmt: skip
    if settings.tried and report.open:
        job = CounterfactualJob(
            config.to_yaml(), str(Path.cwd()), candidate.load, acting, settings.tried, settings.seed + 1
        )
        report = _tried(report, job)
    return report


def read_episodes(
    datasets: Sequence[Dataset],
    real: RealEpisodes,
    candidate: Candidate,
    arm: Arm,
    robot: str,
    *,
    cameras: Sequence[str] = (),
) -> tuple[RealEpisodes, list[EpisodeTrace]]:
    """Those of the policy that were not broken off, and all that their frames and a few pictures show."""
    mine = (real.checkpoint == candidate.digest) & ~real.interrupted & (real.length > 2)
    if mine.sum() < LEAST_EPISODES:
        there = sorted({str(each)[:12] or "demonstrations" for each in real.checkpoint})
        where = ", ".join(str(dataset.path) for dataset in datasets)
        raise UsageError(
            f"{where}: {int(mine.sum())} episodes of {candidate.name} ({candidate.digest[:12]}); "
            f"{LEAST_EPISODES} or more are needed to tell anything. The logs hold: {', '.join(there) or 'nothing'}"
        )
    real = real.take(np.flatnonzero(mine))
    for dataset in datasets:
        if dataset.header.robot != robot:
            raise UsageError(f"{dataset.path}: is of robot {dataset.header.robot!r}; the twin's is {robot!r}")
        require_consent(dataset.attempts(), "analyse", where=str(dataset.path))
    shown = []
    for row in range(len(real)):
        dataset, attempt = datasets[int(real.log[row])], int(real.attempt[row])
        frames = dataset.episode(attempt=attempt)
        told = {name: str(values[row]) for name, values in real.conditions.items()}
        known = {name: frames[name] for name in FRAMES if name in frames}
        pictures = logged(dataset, attempt, int(real.length[row]), cameras)
        shown.append(EpisodeTrace(known, bool(real.managed[row]), arm, told, pictures))
    return real, shown


def _report(
    real: RealEpisodes,
    logs: Sequence,
    traits: np.ndarray,
    summary: TraitSummary,
    bank: Bank,
    weighed: GapPosterior,
    config: RunConfig,
    phases: Sequence,
) -> GapReport:
    usual = summarised(bank.reference.traits)
    success = Rate(int(real.managed.sum()), len(real))
    twin_success = bank.reference.success
    trained = {name: each.support() for name, each in config.randomization.items()}
    findings = tuple(finding_of(gap, weighed, summary, usual, trained) for gap in weighed.ranked)
    lost = 100 * (twin_success - success.value)
    explained = sum(finding.points for finding in findings)
    present = weighed.surprise > SURPRISING
    strange = [each for each in evidence_of(weighed.left, summary, usual) if each.trait in weighed.strange]
    failed = np.flatnonzero(~real.managed)
    kinds = dict(real.conditions)
    if len(set(real.robot_id.tolist())) > 1:
        kinds["robot"] = real.robot_id
    ended = [str(phase.name) for phase in phases]
    last = _last_phases(logs, real)
    return GapReport(
        subject={},
        episodes=len(real),
        success=success.value,
        success_interval=success.interval,
        twin_success=twin_success,
        nothing=weighed.nothing,
        findings=findings,
        unmodelled=Unmodelled(
            points=max(0.0, lost - explained),
            strange=tuple(strange) if present else (),
            episodes=_to_look_at(real, logs, traits, weighed, failed) if present else (),
            surprise=weighed.surprise,
            present=present,
        ),
        looks=tuple(look.to_json() for look in looks(kinds, real.managed)),
        phases=tuple(
            {"phase": name, "failures": int(((last == name) & ~real.managed).sum())} for name in ended
        ),
        failures={str(name): int((real.failure == name).sum()) for name in sorted(set(real.failure) - {""})},
    )  # fmt: skip


def _last_phases(logs: Sequence, real: RealEpisodes) -> np.ndarray:
    tables = [Dataset.open(log.path).attempts() for log in logs]
    found = []
    for log, attempt in zip(real.log, real.attempt, strict=True):
        table = tables[int(log)]
        at = table["attempt"].to_pylist().index(int(attempt))
        found.append(table["last_phase"][at].as_py() if "last_phase" in table.column_names else "")
    return np.array(found, object)


def _to_look_at(
    real: RealEpisodes, logs: Sequence, traits: np.ndarray, weighed: GapPosterior, failed: np.ndarray
) -> tuple[tuple[str, int], ...]:
    """Failures that show the strange traits most, else any failures, else the strangest episodes."""
    names = {name.removesuffix(" (spread)") for name in weighed.strange}
    columns = [place for place, trait in enumerate(TRAITS) if trait.name in names]
    rows = failed if len(failed) else np.arange(len(real))
    if columns:
        told = np.column_stack([TRAITS[place].told(traits[:, place]) for place in columns])
        scale = np.nanmedian(np.abs(told - np.nanmedian(told, axis=0)), axis=0) + 1e-9
        oddness = np.nan_to_num(np.abs(told - np.nanmedian(told, axis=0)) / scale).max(axis=1)
        rows = rows[np.argsort(-oddness[rows], kind="stable")]
    return tuple((str(logs[int(real.log[row])].path), int(real.attempt[row])) for row in rows[:8])


def _tried(report: GapReport, job: CounterfactualJob) -> GapReport:
    """The explanation in the twin: all found gaps open, and each of them closed in turn."""
    every: dict[Gap, Mapping[str, Distribution]] = {
        finding.gap: {row.row: as_distribution(row) for row in finding.rows} for finding in report.open
    }
    ranges = {name: each for rows in every.values() for name, each in rows.items()}
    if not ranges:
        return report
    tries = [ranges]
    for rows in every.values():
        tries.append({name: Constant(BY_NAME[name].nominal) if name in rows else each for name, each in ranges.items()})
    worlds = [Hypothesis(None, 0.0, each, {}) for each in tries]
    ((_, found),) = imagine(job, iter([(0, tuple(worlds))]))
    success = [world.success for world in found]
    won = {gap: 100 * (rate - success[0]) for gap, rate in zip(every, success[1:], strict=True)}
    findings = tuple(replace(finding, closing=won.get(finding.gap)) for finding in report.findings)
    return replace(report, findings=findings, predicted=success[0])
