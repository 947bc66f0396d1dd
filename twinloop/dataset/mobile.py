"""Datasets of robots that move about: rollouts with the scripted expert or a policy, with rewards."""

import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.curate.hints import most_frequent
from twinloop.dataset._describe import describe
from twinloop.dataset.header import Header
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.shard import ShardDraft, write_shard
from twinloop.dataset.versions import versions
from twinloop.dataset.writer import DatasetWriter
from twinloop.environments.make import mobile_embodiment
from twinloop.environments.mobile import MobileEmbodiment
from twinloop.environments.mobile_rollout import (
    Act,
    MobileEpisodes,
    expert_act,
    mobile_features,
    mobile_rollout,
    verdicts,
)
from twinloop.errors import UsageError
from twinloop.run.mobile import MobileConfig

SHARD_EPISODES = 16


def generate_mobile(
    config: MobileConfig,
    out: Path,
    *,
    episodes: int,
    actor: Callable[[MobileEmbodiment], Act] = expert_act,
    on_shard: Callable[[int, int], None] = lambda _done, _total: None,
) -> str:
    """Write episodes into `out`, or continue an interrupted run there. Return the dataset's digest.

    Failed episodes are stored too, because their rewards differ. Episodes that cannot succeed, e.g. in a room
    without a free path, are not simulated: they are rejected with the reason as verdict.

    Args:
        actor: makes the actor that moves the robot; the scripted expert by default.
        on_shard: called with (episodes so far, episodes).
    """
    robot = mobile_embodiment(config, width=SHARD_EPISODES, seed=config.rollout.seed)
    features = mobile_features(robot)
    header = Header(
        name=out.name, source="sim", robot=robot.robot, fps=robot.rate_hz, features=features, phases=(),
        config_digest=config.digest, run_seed=config.rollout.seed, shard_episodes=SHARD_EPISODES, episodes=episodes,
        keep_rejected=True, versions=versions(features, films=False),
    )  # fmt: skip
    act = actor(robot)
    with DatasetWriter.open(out, header, config.to_yaml(), verify=True) as writer:
        for first, stop in writer.missing():
            rollouts = mobile_rollout(robot, act, first, record=True)
            writer.commit(_shard(rollouts, config, robot, Path(writer.scratch("")), first, stop))
            on_shard(stop, episodes)
        return writer.finish()


def mobile_cost(config: MobileConfig, episodes: int) -> dict[str, Any]:
    """Time, disk space and outcomes of `episodes`, from a probe of one shard on this machine."""
    with tempfile.TemporaryDirectory(prefix="twinloop-probe-") as folder:
        out, begin, probe = Path(folder) / "probe", time.perf_counter(), min(SHARD_EPISODES, episodes)
        generate_mobile(config, out, episodes=probe)
        seconds = time.perf_counter() - begin
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        facts = describe(out)
    share, rejected = episodes / probe, most_frequent(facts["episodes"]["rejected"])
    return {
        "seconds": seconds * share, "disk_bytes": round(size * share), "frames": round(facts["frames"] * share),
        "accepted_share": 1 - sum(rejected.values()) / probe, "rejected": rejected,
        "failures": most_frequent(facts["failures"]),
    }  # fmt: skip


def local_folder(out: Path | Remote) -> Path:
    if not isinstance(out, Path):
        raise UsageError(f"--out {out}: datasets of robots with legs or wheels are written to folders; give a folder")
    return out


def _shard(
    rollouts: MobileEpisodes, config: MobileConfig, robot: MobileEmbodiment, scratch: Path, first: int, stop: int
) -> ShardDraft:
    recording, count = rollouts.recording, stop - first
    assert recording is not None
    kept = np.arange(len(rollouts.lengths)) < count
    failure, simulated = rollouts.failure[:count], rollouts.simulated[:count]
    verdict = verdicts(rollouts)[:count]
    draws = rollouts.draws
    columns = {
        "attempt": draws.attempts[:count],
        "task": [robot.instruction] * count,
        "length": rollouts.lengths[:count],
        "verdict": verdict.tolist(),
        "success": rollouts.success[:count],
        "seed": np.full(count, config.rollout.seed),
        "config_digest": [config.digest] * count,
        "task_name": [config.scene.task.name] * count,
        "duration_s": rollouts.lengths[:count] / robot.rate_hz,
        "failure": np.where(simulated, failure, "").tolist(),
        **{f"version/{name}": [version] * count
           for name, version in versions(recording.features, films=False).items()},
        **{f"draw/{column}": draws.values[column][:count] for column in draws.varied},
        **{f"check/{name}": values[:count] for name, values in rollouts.checks.items()},
    }  # fmt: skip
    folder = scratch / f"{first:09d}-{stop:09d}.{secrets.token_hex(4)}"
    return write_shard(folder, first, stop, recording.take(kept), columns, fps=robot.rate_hz, keep=simulated)
