"""Datasets of walking: rollouts of a legged robot with the scripted expert or a policy, with rewards."""

import secrets
from collections.abc import Callable
from pathlib import Path

import numpy as np

from twinloop.curate.verdict import ACCEPTED, TASK_FAILED
from twinloop.dataset.header import Header
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.shard import ShardDraft, write_shard
from twinloop.dataset.versions import versions
from twinloop.dataset.writer import DatasetWriter
from twinloop.environments.legs import LegsEmbodiment
from twinloop.environments.walk_rollout import DIVERGED, Act, WalkEpisodes, expert_act, walk_features, walk_rollout
from twinloop.errors import UsageError
from twinloop.run.walk import WalkConfig

SHARD_EPISODES = 16


def generate_walks(
    config: WalkConfig,
    out: Path,
    *,
    episodes: int,
    actor: Callable[[LegsEmbodiment], Act] = expert_act,
    on_shard: Callable[[int, int], None] = lambda _done, _total: None,
) -> str:
    """Write episodes into `out`, or continue an interrupted run there. Return the dataset's digest.

    Episodes that end with a fall are stored too, because rewards tell them apart.

    Args:
        actor: makes what moves the robot; the scripted expert by default.
        on_shard: called with (episodes so far, episodes).
    """
    robot = LegsEmbodiment(config, width=SHARD_EPISODES, seed=config.rollout.seed)
    features = walk_features(robot)
    header = Header(
        name=out.name, source="sim", robot=robot.robot, fps=robot.rate_hz, features=features, phases=(),
        config_digest=config.digest, run_seed=config.rollout.seed, shard_episodes=SHARD_EPISODES, episodes=episodes,
        keep_rejected=True, versions=versions(features, films=False),
    )  # fmt: skip
    act = actor(robot)
    with DatasetWriter.open(out, header, config.to_yaml(), verify=True) as writer:
        for first, stop in writer.missing():
            walks = walk_rollout(robot, act, first, record=True)
            writer.commit(_shard(walks, config, robot, Path(writer.scratch("")), first, stop))
            on_shard(stop, episodes)
        return writer.finish()


def local_folder(out: Path | Remote) -> Path:
    if not isinstance(out, Path):
        raise UsageError(f"--out {out}: datasets of legged robots are written to folders; give a folder")
    return out


def _shard(
    walks: WalkEpisodes, config: WalkConfig, robot: LegsEmbodiment, scratch: Path, first: int, stop: int
) -> ShardDraft:
    recording, count = walks.recording, stop - first
    assert recording is not None
    kept = np.arange(len(walks.lengths)) < count
    failure = walks.failure[:count]
    verdict = np.where(failure == "", ACCEPTED, np.where(failure == DIVERGED, DIVERGED, TASK_FAILED))
    draws = walks.draws
    columns = {
        "attempt": draws.attempts[:count],
        "task": [robot.instruction] * count,
        "length": walks.lengths[:count],
        "verdict": verdict.tolist(),
        "success": walks.success[:count],
        "seed": np.full(count, config.rollout.seed),
        "config_digest": [config.digest] * count,
        "task_name": [config.scene.task.name] * count,
        "duration_s": walks.lengths[:count] / robot.rate_hz,
        "failure": failure.tolist(),
        **{f"version/{name}": [version] * count
           for name, version in versions(recording.features, films=False).items()},
        **{f"draw/{column}": draws.values[column][:count] for column in draws.varied},
        "check/velocity_error_m_s": walks.velocity_error_m_s[:count],
        "check/turn_error_rad_s": walks.turn_error_rad_s[:count],
    }  # fmt: skip
    folder = scratch / f"{first:09d}-{stop:09d}.{secrets.token_hex(4)}"
    return write_shard(folder, first, stop, recording.take(kept), columns, fps=robot.rate_hz, keep=np.ones(count, bool))
