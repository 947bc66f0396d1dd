"""The robot's episodes of one policy, read from runlogs for a diagnosis."""

from collections.abc import Sequence

import numpy as np

from twinloop.dataset import Dataset
from twinloop.dataset.people.consent import require_consent
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.diagnose.snapshots import logged
from twinloop.diagnose.traits import Arm, EpisodeTrace, MobileModel, MobileTrace, mobile_trace
from twinloop.environments.mobile import MobileEmbodiment
from twinloop.errors import UsageError
from twinloop.learn.candidate import Candidate

FEATURES = ("observation.state", "observation.effort", "observation.environment_state", "action", "command")
MIN_EPISODES = 8


def read_episodes(
    datasets: Sequence[Dataset],
    real: RealEpisodes,
    candidate: Candidate,
    arm: Arm,
    robot: str,
    *,
    cameras: Sequence[str] = (),
) -> tuple[RealEpisodes, list[EpisodeTrace]]:
    """Return the policy's episodes that were not interrupted, with their frames and a few images of each.

    Args:
        datasets: the runlogs, in the order of `real.log`.
        real: outcomes of all episodes of these runlogs.
        robot: the twin's robot; runlogs of another robot are refused.
        cameras: cameras whose images are compared.

    Raises:
        UsageError: too few episodes of the policy, or a runlog of another robot.
    """
    real = _of_policy(datasets, real, candidate, robot)
    traces = []
    for row in range(len(real)):
        dataset, attempt = datasets[int(real.log[row])], int(real.attempt[row])
        frames = dataset.episode(attempt=attempt)
        conditions = {name: str(values[row]) for name, values in real.conditions.items()}
        known = {name: frames[name] for name in FEATURES if name in frames}
        images = logged(dataset, attempt, int(real.length[row]), cameras)
        traces.append(EpisodeTrace(known, bool(real.managed[row]), arm, conditions, images))
    return real, traces


def read_mobile_episodes(
    datasets: Sequence[Dataset], real: RealEpisodes, candidate: Candidate, model: MobileModel, robot: MobileEmbodiment
) -> tuple[RealEpisodes, list[MobileTrace]]:
    """The same for a robot with legs or wheels."""
    real = _of_policy(datasets, real, candidate, robot.robot)
    names = [feature.name for feature in (*robot.features, robot.surroundings)]
    traces = []
    for row in range(len(real)):
        frames = datasets[int(real.log[row])].episode(attempt=int(real.attempt[row]))
        known = {name: frames[name] for name in (*names, "action", "command") if name in frames}
        traces.append(mobile_trace(known, success=bool(real.managed[row]), robot=model))
    return real, traces


def _of_policy(datasets: Sequence[Dataset], real: RealEpisodes, candidate: Candidate, robot: str) -> RealEpisodes:
    """The policy's episodes that were not interrupted."""
    selected = (real.checkpoint == candidate.digest) & ~real.interrupted & (real.length > 2)
    if selected.sum() < MIN_EPISODES:
        policies = sorted({str(digest)[:12] or "demonstrations" for digest in real.checkpoint})
        paths = ", ".join(str(dataset.path) for dataset in datasets)
        raise UsageError(
            f"{paths}: {int(selected.sum())} episodes of {candidate.name} ({candidate.digest[:12]}); a diagnosis needs "
            f"{MIN_EPISODES} or more. The logs hold episodes of: {', '.join(policies) or 'nothing'}"
        )
    real = real.take(np.flatnonzero(selected))
    for dataset in datasets:
        if dataset.header.robot != robot:
            raise UsageError(f"{dataset.path}: robot is {dataset.header.robot!r}; the twin's robot is {robot!r}")
        require_consent(dataset.attempts(), "analyse", where=str(dataset.path))
    return real


def last_phases(datasets: Sequence[Dataset], real: RealEpisodes) -> np.ndarray:
    """(n,) the phase in which each episode ended, "" where the log does not say."""
    tables = [dataset.attempts() for dataset in datasets]
    phases = []
    for log, attempt in zip(real.log, real.attempt, strict=True):
        table = tables[int(log)]
        row = table["attempt"].to_pylist().index(int(attempt))
        phases.append(table["last_phase"][row].as_py() if "last_phase" in table.column_names else "")
    return np.array(phases, object)
