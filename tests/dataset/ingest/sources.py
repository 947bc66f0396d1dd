"""Small sources as other tools write them, made by hand."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.curate.quality.recordings import clean_recordings

JOINTS = ["base", "shoulder", "elbow", "wrist", "gripper"]


def lerobot_v2(root: Path, *, episodes: int = 4, rate_hz: int = 30, cameras: bool = False) -> Path:
    """LeRobot v2.1, a Parquet file an episode; with `cameras`, a video an episode."""
    (root / "meta").mkdir(parents=True)
    (root / "data/chunk-000").mkdir(parents=True)
    vector = {"dtype": "float32", "shape": [5], "names": JOINTS}
    features: dict = {"action": vector, "observation.state": vector}
    features["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
    if cameras:
        info = {"video.fps": rate_hz, "video.codec": "av1", "video.is_depth_map": False}
        names = ["height", "width", "channels"]
        features["observation.images.front"] = {"dtype": "video", "shape": [32, 48, 3], "names": names, "info": info}
    lines = []
    for recording in clean_recordings(episodes, seed=5, rate_hz=rate_hz):
        rows = recording.rows
        columns = {
            name: pa.FixedSizeListArray.from_arrays(pa.array(values.astype(np.float32).reshape(-1)), 5)
            for name, values in recording.signals.items()
        }
        columns["timestamp"] = pa.array((np.arange(rows) / rate_hz).astype(np.float32))
        columns["episode_index"] = pa.array(np.full(rows, recording.attempt))
        columns["task_index"] = pa.array(np.zeros(rows, np.int64))
        pq.write_table(pa.table(columns), root / f"data/chunk-000/episode_{recording.attempt:06d}.parquet")
        lines.append(json.dumps({"episode_index": recording.attempt, "tasks": ["stack the cups"], "length": rows}))
        if cameras:
            film(root / f"videos/chunk-000/observation.images.front/episode_{recording.attempt:06d}.mp4", rows, rate_hz)
    info = {
        "codebase_version": "v2.1", "robot_type": "toy_arm", "fps": rate_hz, "total_episodes": episodes,
        "chunks_size": 1000, "features": features,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    }  # fmt: skip
    (root / "meta/info.json").write_text(json.dumps(info))
    (root / "meta/episodes.jsonl").write_text("\n".join(lines) + "\n")
    (root / "meta/tasks.jsonl").write_text('{"task_index": 0, "task": "stack the cups"}\n')
    return root


def film(path: Path, frames: int, rate_hz: float, *, key_every: int = 2) -> None:
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        options = {"g": str(key_every), "bf": "0", "preset": "ultrafast"}
        stream = container.add_stream("libx264", rate=int(rate_hz), options=options)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
        y, x = np.ogrid[:32, :48]
        for number in range(frames):
            wave = 127 + 100 * np.sin((x + 3 * number) / 9) * np.cos(y / 7)
            picture = np.repeat(wave[..., None], 3, axis=2).astype(np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


def robomimic(path: Path, *, episodes: int = 3, pictures: bool = False) -> Path:
    import h5py

    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        env = {"env_name": "Lift", "env_kwargs": {"control_freq": 20, "robots": ["Panda"]}}
        data.attrs["env_args"] = json.dumps(env)
        for recording in clean_recordings(episodes, seed=9, rate_hz=20.0):
            demo = data.create_group(f"demo_{recording.attempt}")
            demo["actions"] = recording.signals["action"]
            demo["obs/joint_pos"] = recording.signals["observation.state"].astype(np.float32)
            demo["states"] = np.cumsum(recording.signals["action"], axis=0)
            demo["rewards"] = (np.arange(recording.rows) == recording.rows - 1).astype(np.float64)
            demo["dones"] = (np.arange(recording.rows) == recording.rows - 1).astype(np.int64)
            demo.attrs["num_samples"] = recording.rows
            if pictures:
                moving = (np.arange(recording.rows)[:, None, None, None] * 3 + np.arange(24)[None, :, None, None]) % 255
                demo["obs/agentview_image"] = np.broadcast_to(moving, (recording.rows, 24, 24, 3)).astype(np.uint8)
        file["mask/train"] = np.array([b"demo_0", b"demo_1"])
        file["mask/valid"] = np.array([b"demo_2"])
    return path
