"""LeRobot v3.0: files with many episodes each; meta/episodes lists where each episode is."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

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
from twinloop.dataset.ingest.outside import MOST_EPISODES, filled, inside
from twinloop.dataset.ingest.source import RawEpisode, Unreadable
from twinloop.errors import DatasetError

DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
NEEDED = ("episode_index", "length", "data/chunk_index", "data/file_index", "dataset_from_index", "dataset_to_index")


class LerobotV3:
    kind = "lerobot v3"

    def __init__(self, root: Path):
        self._root, self._info = root, read_info(root)
        self.rate_hz: float | None = self._info.rate_hz
        self.robot, self.looks, self.left_out = self._info.robot, self._info.looks, self._info.left_out
        self._episodes = self._read_episodes()
        self._first_rows: dict[str, int] = {}
        for episode in self._episodes:
            path = self._data_path(episode)
            self._first_rows[path] = min(self._first_rows.get(path, 1 << 62), episode["dataset_from_index"])
        self._rows = lru_cache(maxsize=1)(self._read_file)  # consecutive episodes are in one file

    def __len__(self) -> int:
        return len(self._episodes)

    def label(self, index: int) -> str:
        return f"episode {self._episodes[index]['episode_index']}"

    def columns(self) -> tuple[ColumnMap, ...]:
        return default_columns(self._info)

    def read(self, index: int) -> RawEpisode:
        episode, label = self._episodes[index], self.label(index)
        path = self._data_path(episode)
        table = self._rows(path)
        start = episode["dataset_from_index"] - self._first_rows[path]
        table = table.slice(start, episode["dataset_to_index"] - episode["dataset_from_index"])
        if table.num_rows != episode["length"]:
            raise Unreadable(f"{label}: {path} has {table.num_rows} of its {episode['length']} rows")
        if "episode_index" in table.column_names:
            numbers = set(table["episode_index"].to_pylist())
            if numbers - {episode["episode_index"]}:
                raise Unreadable(f"{label}: {path} has rows of other episodes at this position", check="ragged_columns")
        columns = to_arrays(table, self._info, where=label)
        outcome, by = outcome_of(columns)
        stored_outcome = episode.get("sim/outcome")
        if stored_outcome in ("success", "failure", "unknown"):
            outcome, by = stored_outcome, str(episode.get("sim/outcome_by") or "")
        return RawEpisode(
            index=index, label=label, rows=table.num_rows, columns=columns, time_s=clock(table),
            films=self._films(episode, table.num_rows), task=str((episode.get("tasks") or [""])[0]),
            outcome=outcome, outcome_by=by, recorded_at=str(episode.get("sim/recorded_at") or ""),
        )  # fmt: skip

    def _films(self, episode: dict, rows: int) -> dict[str, VideoFilm]:
        films = {}
        for camera in self.looks:
            chunk, number = episode.get(f"videos/{camera}/chunk_index"), episode.get(f"videos/{camera}/file_index")
            begins_s = episode.get(f"videos/{camera}/from_timestamp")
            if not isinstance(chunk, int) or not isinstance(number, int) or not isinstance(begins_s, float):
                continue
            values: dict[str, int | str] = {"chunk_index": chunk, "file_index": number, "video_key": camera}
            template = self._info.video_path or VIDEO_PATH
            path = self._root / filled(template, values, where=str(self._root / "meta/info.json"))
            if path.exists() or path.is_symlink():
                first = round(begins_s * self._info.rate_hz)
                films[camera] = VideoFilm(inside(self._root, path), first, rows, self._info.rate_hz)
        return films

    def _data_path(self, episode: dict) -> str:
        values: dict[str, int | str] = {
            "chunk_index": episode["data/chunk_index"], "file_index": episode["data/file_index"],
        }  # fmt: skip
        return filled(self._info.data_path or DATA_PATH, values, where=str(self._root / "meta/info.json"))

    def _read_file(self, path: str) -> pa.Table:
        return read_rows(self._root, self._root / path, [*self._info.numbers, "timestamp", "episode_index"])

    def _read_episodes(self) -> list[dict[str, Any]]:
        files = sorted((self._root / "meta/episodes").glob("*/*.parquet"))
        if not files:
            raise DatasetError(
                f"{self._root / 'meta/episodes'}: has no Parquet file, which v3.0 datasets need to list their episodes"
            )
        episodes: list[dict[str, Any]] = []
        for path in files:
            try:
                table = read_rows(self._root, path)
            except Unreadable as error:
                raise DatasetError(str(error)) from None
            # Statistics are most of the file and are not needed.
            table = table.select([name for name in table.column_names if not name.startswith("stats/")])
            if not set(NEEDED) <= set(table.column_names):
                raise DatasetError(f"{path}: lacks {', '.join(sorted(set(NEEDED) - set(table.column_names)))}")
            episodes += table.to_pylist()
        if len(episodes) > MOST_EPISODES:
            raise DatasetError(f"{self._root}: has {len(episodes):,} episodes; the maximum is {MOST_EPISODES:,}")
        for episode in episodes:
            counts = [episode[name] for name in NEEDED]
            if not all(isinstance(count, (int, np.integer)) and count >= 0 for count in counts):
                raise DatasetError(f"{self._root / 'meta/episodes'}: an episode has {counts} for {', '.join(NEEDED)}")
        return sorted(episodes, key=lambda episode: episode["episode_index"])
