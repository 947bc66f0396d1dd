"""LeRobot v2.0 and v2.1: one Parquet file per episode, one video per episode and camera."""

import json
from pathlib import Path

from twinloop.dataset.ingest.films import VideoFilm
from twinloop.dataset.ingest.lerobot_folder import (
    clock,
    default_columns,
    outcome_of,
    read_info,
    read_rows,
    to_arrays,
)
from twinloop.dataset.ingest.mapping import ColumnMap
from twinloop.dataset.ingest.outside import filled, inside, text_inside
from twinloop.dataset.ingest.source import RawEpisode, Unreadable
from twinloop.errors import DatasetError

DATA_PATH = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"


class LerobotV2:
    kind = "lerobot v2"

    def __init__(self, root: Path):
        self._root, self._info = root, read_info(root)
        self.rate_hz: float | None = self._info.rate_hz
        self.robot, self.looks, self.left_out = self._info.robot, self._info.looks, self._info.left_out
        self._tasks = {
            int(line["task_index"]): str(line["task"]) for line in self._lines("meta/tasks.jsonl", "task_index", "task")
        }
        self._episodes = self._lines("meta/episodes.jsonl", "episode_index", "length")
        if not self._episodes:
            self._episodes = [{"episode_index": number} for number in range(self._info.episodes)]

    def __len__(self) -> int:
        return len(self._episodes)

    def label(self, index: int) -> str:
        return Path(self._path(index)).name

    def columns(self) -> tuple[ColumnMap, ...]:
        return default_columns(self._info)

    def read(self, index: int) -> RawEpisode:
        episode, path = self._episodes[index], self._root / self._path(index)
        table = read_rows(self._root, path, [*self._info.numbers, "timestamp", "task_index"])
        declared = episode.get("length")
        if isinstance(declared, int) and declared != table.num_rows:
            raise Unreadable(f"{path.name}: has {table.num_rows} rows, but meta/episodes.jsonl lists {declared}")
        columns = to_arrays(table, self._info, where=path.name)
        outcome, by = outcome_of(columns)
        films = {}
        for camera in self.looks:
            video = self._root / self._path(index, camera)
            if video.exists() or video.is_symlink():
                films[camera] = VideoFilm(inside(self._root, video))
        return RawEpisode(
            index=index, label=path.name, rows=table.num_rows, columns=columns, time_s=clock(table), films=films,
            task=self._task(episode, table), outcome=outcome, outcome_by=by,
        )  # fmt: skip

    def _task(self, episode: dict, table) -> str:
        tasks = episode.get("tasks")
        if isinstance(tasks, list) and tasks:
            return str(tasks[0])
        if "task_index" in table.column_names and table.num_rows:
            return self._tasks.get(table["task_index"][0].as_py(), "")
        return ""

    def _path(self, index: int, camera: str = "") -> str:
        number = int(self._episodes[index]["episode_index"])
        values: dict[str, int | str] = {
            "episode_chunk": number // self._info.chunks_size, "episode_index": number, "video_key": camera,
        }  # fmt: skip
        template = (self._info.video_path or VIDEO_PATH) if camera else (self._info.data_path or DATA_PATH)
        return filled(template, values, where=str(self._root / "meta/info.json"))

    def _lines(self, name: str, *needed: str) -> list[dict]:
        path = self._root / name
        if not path.exists():
            return []
        values = []
        for number, line in enumerate(text_inside(self._root, path).splitlines(), start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
                value[needed[0]] = int(value[needed[0]])
                if not set(needed) <= value.keys():
                    raise KeyError(needed[1])
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise DatasetError(
                    f"{path}:{number}: a mapping with {', '.join(needed)} was expected ({error})"
                ) from None
            values.append(value)
        return values
