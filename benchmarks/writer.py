"""Measure how fast frames are written to a dataset and read back as training batches, and the machine's limits.

    python benchmarks/writer.py [--json] [--frames 600000] [--batch 256] [--workers N] [--folder DIR]

Frames are made beforehand and are not part of any figure. Writing is `write_shard`, commit and LeRobot export, with
every fsync. Reading is one epoch of shuffled transitions from the shards. The limits are measured in the same run:
the same number of bytes written and fsynced at once, and the same batches gathered from arrays in memory.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop.dataset import Dataset, DatasetWriter, Header, ShardDraft, write_shard
from twinloop.observe.recording import Feature, Recording

# LeRobot's own writer and loader on such frames without cameras, measured on a 2-core machine.
LEROBOT_WRITER_FRAMES_PER_S = 1_860
LEROBOT_LOADER_FRAMES_PER_S = 9_400

SHARD_EPISODES = 64
FPS = 50
VECTORS = {
    "observation.state": 8,
    "observation.velocity": 8,
    "observation.effort": 8,
    "observation.environment_state": 14,
    "action": 8,
    "command": 8,
    "contact": 3,
}
FEATURES = (
    *(Feature(name, "float32", (width,)) for name, width in VECTORS.items()),
    Feature("phase", "int64", (1,)),
    Feature("next.reward", "float32", (1,)),
    Feature("next.done", "bool", (1,)),
    Feature("next.success", "bool", (1,)),
)


@dataclass(frozen=True)
class Shard:
    first: int
    recording: Recording
    columns: dict


def made_up_shard(first: int, rng: np.random.Generator) -> Shard:
    """64 episodes of smooth motion with sensor noise, which compress like real recordings."""
    lengths = rng.integers(120, 181, SHARD_EPISODES)
    total = int(lengths.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    time_s = (np.arange(total) - np.repeat(starts, lengths)) / FPS
    frames: dict[str, np.ndarray] = {}
    for name, width in VECTORS.items():
        rate, phase = (rng.uniform(0.2, 3.0, (SHARD_EPISODES, width)) for _ in range(2))
        angle = time_s[:, None] * np.repeat(rate, lengths, axis=0) + np.repeat(phase, lengths, axis=0)
        frames[name] = (np.sin(angle) + rng.normal(scale=1e-3, size=angle.shape)).astype(np.float32)
    last = np.zeros(total, bool)
    last[starts + lengths - 1] = True
    frames |= {"phase": (time_s * 2).astype(np.int64), "next.reward": last.astype(np.float32)}
    frames |= {"next.done": last, "next.success": last}
    attempts = np.arange(first, first + SHARD_EPISODES)
    tasks = ("lift the cube",) * SHARD_EPISODES
    recording = Recording(attempts, lengths, tasks, FEATURES, frames)
    columns = {
        "attempt": attempts,
        "task": tasks,
        "length": lengths,
        "verdict": ["accepted"] * SHARD_EPISODES,
        "success": np.ones(SHARD_EPISODES, bool),
        **{f"draw/value_{index}": rng.normal(size=SHARD_EPISODES) for index in range(24)},
        **{f"check/value_{index}": rng.normal(size=SHARD_EPISODES) for index in range(8)},
    }
    return Shard(first, recording, columns)


def write(path: Path, shards: list[Shard], workers: int) -> dict[str, float]:
    """Seconds of each part of writing the dataset: shards by `workers`, then the export."""
    header = Header(
        name="benchmark",
        source="sim",
        robot="arm",
        fps=FPS,
        features=FEATURES,
        phases=(),
        config_digest="",
        run_seed=0,
        shard_episodes=SHARD_EPISODES,
        episodes=SHARD_EPISODES * len(shards),
    )
    with DatasetWriter.open(path, header, "") as writer, ThreadPoolExecutor(workers) as pool:

        def one(shard: Shard) -> ShardDraft:
            stop = shard.first + SHARD_EPISODES
            folder = writer.scratch(str(shard.first))
            return write_shard(folder, shard.first, stop, shard.recording, shard.columns, fps=FPS)

        begin = time.perf_counter()
        for draft in pool.map(one, shards):
            writer.commit(draft)
        committed = time.perf_counter()
        writer.finish()
        return {"shards": committed - begin, "export": time.perf_counter() - committed}


def read(path: Path, batch: int) -> tuple[int, float]:
    """(transitions, seconds) of one shuffled epoch; each batch is read, so that nothing stays lazy."""
    begin, count, total = time.perf_counter(), 0, 0.0
    for transitions in Dataset.open(path).transitions(batch, seed=0):
        count += len(transitions.terminal)
        total += float(transitions.state[0, 0] + transitions.action[0, 0] + transitions.next_state[0, 0])
    return count, time.perf_counter() - begin


def raw_write(folder: Path, size: int) -> float:
    """Seconds to write and fsync `size` bytes in one go."""
    block = np.random.default_rng(0).bytes(1 << 24)
    begin = time.perf_counter()
    with (folder / "raw").open("wb", buffering=0) as file:
        for start in range(0, size, len(block)):
            file.write(block[: size - start])
        os.fsync(file.fileno())
    return time.perf_counter() - begin


def raw_gather(shards: list[Shard], batch: int) -> float:
    """Seconds to gather the batches of an epoch from arrays in memory."""
    state = np.concatenate([shard.recording.frames["observation.state"] for shard in shards])
    action = np.concatenate([shard.recording.frames["action"] for shard in shards])
    last = np.concatenate([shard.recording.frames["next.done"] for shard in shards])
    begin = time.perf_counter()
    rows = np.random.default_rng(0).permutation(np.flatnonzero(~last))
    for start in range(0, len(rows), batch):
        chosen = rows[start : start + batch]
        for array, taken in ((state, chosen), (action, chosen), (state, chosen + 1), (last, chosen + 1)):
            array.take(taken, axis=0)
    return time.perf_counter() - begin


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(folder: Path, frames_wanted: int, batch: int, workers: int) -> dict[str, float | int]:
    rng = np.random.default_rng(0)
    shards: list[Shard] = []
    log(f"making up {frames_wanted:,} frames")
    while sum(shard.recording.total_frames for shard in shards) < frames_wanted:
        shards.append(made_up_shard(len(shards) * SHARD_EPISODES, rng))
    frames = sum(shard.recording.total_frames for shard in shards)

    log("writing")
    path = folder / "dataset"
    spent = write(path, shards, workers)
    log("reading")
    transitions, read_s = read(path, batch)
    log("limits of the machine")
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    shard_size = sum(entry.size_bytes for entry in Dataset.open(path).entries)
    raw_write_s, raw_gather_s = raw_write(folder, size), raw_gather(shards, batch)
    write_s = sum(spent.values())
    return {
        "frames": frames,
        "write_frames_per_s": round(frames / write_s),
        "write_shard_frames_per_s": round(frames / spent["shards"]),
        "workers": workers,
        "export_frames_per_s": round(frames / spent["export"]),
        "read_frames_per_s": round(transitions / read_s),
        "batch_size": batch,
        "bytes_per_frame": round(size / frames, 1),
        "shard_bytes_per_frame": round(shard_size / frames, 1),
        "raw_write_frames_per_s": round(frames / raw_write_s),
        "write_share_of_raw": round(raw_write_s / write_s, 3),
        "raw_gather_frames_per_s": round(transitions / raw_gather_s),
        "read_share_of_raw": round(raw_gather_s / read_s, 3),
        "write_times_lerobot": round(frames / write_s / LEROBOT_WRITER_FRAMES_PER_S, 1),
        "read_times_lerobot": round(transitions / read_s / LEROBOT_LOADER_FRAMES_PER_S, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--frames", type=int, default=600_000)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="number of processes that write shards"
    )
    parser.add_argument("--folder", type=Path, help="where to write; a temporary folder unless given")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        figures = measure(Path(folder), given.frames, given.batch, given.workers)
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:28s} {value:>14,}")


if __name__ == "__main__":
    main()
