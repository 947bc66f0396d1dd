"""Export the control videos of one episode in the layout that Cosmos Transfer reads.

input.mp4           the camera's film
edge.mp4            edges by Canny's method
vis.mp4             the blurred film
depth.mp4           inverse depth, near is white
seg.mp4             one colour for each body
mask.mp4            white where the robot or an object is: a `mask_path` of a control
prompt.txt          the instruction and the setting
transfer2.json      parameters of Cosmos-Transfer2.5; paths are relative to this file
transfer1.json      `--controlnet_specs` of Cosmos-Transfer1; paths are relative to the working folder
control.json        dataset, episode, camera, rate and size, for `twinloop ingest --of`
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from twinloop.dataset.control.camera_film import CameraFilm, chosen_camera, read_camera_film
from twinloop.dataset.control.signals import (
    blurred,
    coloured_ids,
    depth_range,
    edges,
    foreground,
    grey_depth,
    id_colours,
)
from twinloop.dataset.reader import Dataset
from twinloop.dataset.video import rate_of, require_av
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import UsageError

MANIFEST = "control.json"
WEIGHTS = {"depth": 0.5, "edge": 0.5, "seg": 0.5, "vis": 0.25}
CODECS = (("libx264", {"crf": "12", "preset": "veryfast"}), ("mpeg4", {"qscale": "2"}))
"""H.264, which every reader decodes; MPEG-4 where FFmpeg has no H.264 encoder."""
SETTING = "The scene is a robot cell in a real laboratory with natural light, filmed by a fixed camera."


@dataclass(frozen=True)
class ControlVideos:
    """An exported folder. videos: control -> file name. missing: control -> why there is none."""

    folder: Path
    camera: str
    videos: dict[str, str]
    missing: dict[str, str]
    frames: int
    rate_hz: float
    size: tuple[int, int]
    prompt: str

    def to_json(self) -> dict[str, Any]:
        return {
            "path": str(self.folder), "camera": self.camera, "videos": self.videos, "missing": self.missing,
            "frames": self.frames, "rate_hz": self.rate_hz, "width": self.size[0], "height": self.size[1],
            "prompt": self.prompt,
        }  # fmt: skip


def export_control(
    dataset: Dataset,
    episode_index: int,
    out: Path,
    *,
    camera: str | None = None,
    prompt: str | None = None,
    scale: int = 1,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> ControlVideos:
    """Write the control videos of one stored episode into a folder.

    Args:
        camera: name of the camera; the first one by default.
        prompt: text for the world model; by default the episode's instruction and a plain setting.
        scale: whole factor by which the videos are larger than the camera's images.
    """
    name = chosen_camera(dataset, camera)
    if out.exists() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise UsageError(f"{out}: is not empty and has no {MANIFEST}; choose another --out")
    film = read_camera_film(dataset, episode_index, name)
    attempt = int(dataset.episode(episode_index)["attempt"][0])
    text = prompt or f"{_instruction(dataset, attempt)} {SETTING}".strip()
    height, width = (scale * side for side in film.rgb.shape[1:3])
    streams, near_far, missing = _streams(film)
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        for number, (control, frames) in enumerate(streams.items()):
            on_progress(number, len(streams))
            _write_video(out / f"{control}.mp4", frames, scale=scale, fps=dataset.header.fps)
        videos = {control: f"{control}.mp4" for control in streams}
        colours = id_colours(max(len(film.names), 1))
        manifest = {
            "dataset": dataset.header.name, "digest": dataset.digest(), "episode": episode_index, "attempt": attempt,
            "camera": name, "rate_hz": dataset.header.fps, "frames": len(film.rgb), "width": width, "height": height,
            "depth_m": near_far, "bodies": {body: colours[number].tolist() for number, body in enumerate(film.names)},
            "rendered_again": film.rendered, "missing": missing,
        }  # fmt: skip
        title = f"{dataset.header.name}_{episode_index}_{name}"
        files = {
            "prompt.txt": text + "\n",
            "transfer2.json": _text(_transfer2(title, videos)),
            "transfer1.json": _text(_transfer1(text, videos)),
            MANIFEST: _text(manifest),
        }
        for file, content in files.items():
            replace_file(out / file, content.encode(), scratch=out)
    return ControlVideos(out, name, videos, missing, len(film.rgb), dataset.header.fps, (width, height), text)


def _instruction(dataset: Dataset, attempt: int) -> str:
    table = dataset.attempts()
    tasks = dict(zip(table["attempt"].to_pylist(), table["task"].to_pylist(), strict=True))
    words = (tasks.get(attempt) or "").strip().rstrip(".")
    return f"A robot arm carries out the task: {words}." if words else ""


Frames = Callable[[], Iterator[np.ndarray]]


def _streams(film: CameraFilm) -> tuple[dict[str, Frames], tuple[float, float] | None, dict[str, str]]:
    """(control -> its frames, depth range, control -> why it is missing)."""
    streams: dict[str, Frames] = {
        "input": lambda: iter(film.rgb),
        "edge": lambda: map(edges, film.rgb),
        "vis": lambda: map(blurred, film.rgb),
    }
    missing, near_far = {}, None
    depth_m, ids = film.depth_m, film.ids
    if depth_m is None:
        missing["depth"] = film.note
    else:
        near, far = near_far = depth_range(depth_m)
        streams["depth"] = lambda: (grey_depth(picture, near, far) for picture in depth_m)
    if ids is None:
        missing["seg"] = missing["mask"] = film.note
    else:
        colours = id_colours(max(len(film.names), int(ids.max()) + 1))
        streams["seg"] = lambda: (coloured_ids(picture, colours) for picture in ids)
        streams["mask"] = lambda: (foreground(picture, film.background_ids) for picture in ids)
    return streams, near_far, missing


def _transfer2(title: str, videos: dict[str, str]) -> dict[str, Any]:
    controls = {
        control: {"control_path": videos[control], "control_weight": weight}
        for control, weight in WEIGHTS.items()
        if control in videos
    }
    return {"name": title, "prompt_path": "prompt.txt", "video_path": videos["input"], **controls}


def _transfer1(prompt: str, videos: dict[str, str]) -> dict[str, Any]:
    controls = {
        control: {"input_control": videos[control], "control_weight": weight}
        for control, weight in WEIGHTS.items()
        if control in videos
    }
    return {"prompt": prompt, "input_video_path": videos["input"], **controls}


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _write_video(path: Path, frames: Frames, *, scale: int, fps: float) -> None:
    av = require_av()
    encoder, options = next((name, options) for name, options in CODECS if name in av.codecs_available)
    part = path.with_suffix(".part")
    with av.open(str(part), "w", format="mp4") as container:
        stream = None
        for picture in frames():
            # Whole factors repeat pixels, so ids keep their colours and edges stay sharp.
            large = np.ascontiguousarray(picture.repeat(scale, axis=0).repeat(scale, axis=1))
            if stream is None:
                stream = cast(Any, container.add_stream(encoder, rate=rate_of(fps), options=options))
                stream.height, stream.width, stream.pix_fmt = *large.shape[:2], "yuv420p"
            container.mux(stream.encode(av.VideoFrame.from_ndarray(large, format="rgb24")))
        if stream is not None:
            container.mux(stream.encode(None))
    os.replace(part, path)
