"""robomimic HDF5: data/demo_i with actions, obs/*, states, rewards and dones; masks; env_args.

An HDF5 file may refer to other files: by links, external storage and virtual datasets. Only numbers inside the file are
read, and only up to a maximum size.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.dataset.ingest.films import StackFilm
from twinloop.dataset.ingest.mapping import ColumnMap
from twinloop.dataset.ingest.outside import MOST_BINARY, MOST_EPISODES, MOST_ROWS, inside
from twinloop.dataset.ingest.source import Outcome, PictureFormat, RawEpisode, Unreadable
from twinloop.errors import DatasetError, UsageError

NAMES = {"actions": "action", "rewards": "next.reward", "dones": "next.done"}
SKIPPED = ("next_obs",)  # obs, shifted by one row
DEMO = re.compile(r"demo_\d+")
MOST_ELEMENTS = 1 << 31
DEEPEST = 6


class Robomimic:
    kind = "robomimic"

    def __init__(self, path: Path):
        self._h5 = _require_h5py()
        self._path = inside(path.parent, path, most_bytes=64 * MOST_BINARY)
        self._left_out: dict[str, str] = {}
        self._layout: dict[str, tuple[int, ...]] = {}
        with self._open() as file:
            data = _group(self._h5, file, "data", self._path)
            names = [str(name) for name in data]
            self._demos = sorted((demo for demo in names if DEMO.fullmatch(demo)), key=lambda demo: int(demo[5:]))
            if not self._demos or len(self._demos) > MOST_EPISODES:
                raise DatasetError(f"{self._path}: data/ has {len(self._demos)} groups named demo_0, demo_1, ...")
            args = _attribute(data, "env_args")
            self._masks = self._read_masks(file)
            first = self._first_readable(file)
            self._layout = {name: part.shape[1:] for name, part in first.items()}
            self._dtypes = {name: part.dtype for name, part in first.items()}
        env = _json(args)
        kwargs = env.get("env_kwargs") if isinstance(env.get("env_kwargs"), dict) else {}
        rate = (kwargs or {}).get("control_freq")
        self.rate_hz: float | None = float(rate) if isinstance(rate, (int, float)) and 0 < rate <= 1e5 else None
        robots = (kwargs or {}).get("robots", "")
        self.robot = str(robots[0] if isinstance(robots, list) and robots else robots)
        self._task = str(env.get("env_name", ""))
        self.looks = {
            f"observation.images.{name.split('/')[-1].removesuffix('_image')}": PictureFormat(
                "video", shape[0], shape[1]
            )
            for name, shape in self._layout.items()
            if self._is_picture(name)
        }
        for name in self._layout:
            if not self._is_picture(name) and len(self._layout[name]) > 1:
                self._left_out[name] = f"has shape {self._layout[name]} per row; only vectors and RGB images are read"

    @property
    def left_out(self) -> Mapping[str, str]:
        return self._left_out

    def __len__(self) -> int:
        return len(self._demos)

    def label(self, index: int) -> str:
        return f"data/{self._demos[index]}"

    def columns(self) -> tuple[ColumnMap, ...]:
        numbers = [name for name in self._layout if not self._is_picture(name) and name not in self.left_out]
        return tuple(ColumnMap(_stored_name(name), (name,)) for name in numbers)

    def read(self, index: int) -> RawEpisode:
        label = self.label(index)
        try:
            with self._open() as file:
                group = _group(self._h5, file, label, self._path)
                parts = dict(self._datasets(group))
                columns = {
                    name: self._values(part) for name, part in parts.items()
                    if name in self._layout and not self._is_picture(name) and name not in self.left_out
                }  # fmt: skip
                missing = sorted(self._layout.keys() - parts.keys())
                if missing:
                    raise Unreadable(f"{label}: has no {', '.join(missing[:5])}", check="ragged_columns")
                success = _attribute(group, "success")
                films = {}
                for name, part in parts.items():
                    if self._is_picture(name) and name in self._layout:
                        camera = f"observation.images.{name.split('/')[-1].removesuffix('_image')}"
                        films[camera] = StackFilm(part.shape[0], self._pictures(label, name))
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            raise Unreadable(f"{self._path.name}: {label} cannot be read ({error})") from None
        lengths = {name: len(values) for name, values in columns.items()}
        rows = lengths.get("actions", max(lengths.values(), default=0))
        ragged = {name: length for name, length in lengths.items() if length != rows}
        if ragged:
            counts = ", ".join(f"{name} {length}" for name, length in list(ragged.items())[:4])
            raise Unreadable(f"{label}: actions have {rows} rows, but {counts}", check="ragged_columns")
        outcome, by = _outcome(success, columns.get("rewards"))
        masks = ", ".join(name for name, demos in self._masks.items() if self._demos[index] in demos)
        return RawEpisode(
            index=index, label=label, rows=rows, columns=columns, films=films, task=self._task, outcome=outcome,
            outcome_by=by, facts={"mask": masks} if self._masks else {},
        )  # fmt: skip

    def _open(self):
        try:
            return self._h5.File(self._path, "r", locking=False)
        except OSError as error:
            raise DatasetError(f"{self._path}: cannot be read as HDF5 ({error})") from None

    def _first_readable(self, file) -> dict[str, Any]:
        for name in self._demos:
            datasets = dict(self._datasets(_group(self._h5, file, f"data/{name}", self._path)))
            if datasets:
                return datasets
        raise DatasetError(f"{self._path}: no demo contains a dataset")

    def _datasets(self, group, prefix: str = "", level: int = 0) -> Iterator[tuple[str, Any]]:
        """Yield (name, dataset) of all datasets below a group. Links to other files are refused."""
        if level > DEEPEST:
            raise DatasetError(f"{self._path}: {group.name} is nested deeper than {DEEPEST} groups")
        for name in group:
            if name in SKIPPED or not isinstance(group.get(name, getlink=True), self._h5.HardLink):
                if name not in SKIPPED:
                    raise DatasetError(
                        f"{self._path}: {group.name}/{name} is a link; only data inside the file is read"
                    )
                continue
            member = group[name]
            if isinstance(member, self._h5.Group):
                yield from self._datasets(member, f"{prefix}{name}/", level + 1)
                continue
            if member.is_virtual or member.external:
                raise DatasetError(
                    f"{self._path}: {member.name} is stored in external files; only data inside the file is read"
                )
            if member.dtype.kind not in "fiub" or member.dtype.itemsize > 8:
                if not self._layout:  # noted for the first demo only
                    self._left_out[f"{prefix}{name}"] = f"has type {member.dtype}; only numbers are read"
                continue
            if not member.shape:
                continue
            if member.size > MOST_ELEMENTS or member.shape[0] > MOST_ROWS:
                raise Unreadable(f"{member.name}: has {member.size:,} numbers; the maximum is {MOST_ELEMENTS:,}")
            yield f"{prefix}{name}", member

    def _is_picture(self, name: str) -> bool:
        shape = self._layout.get(name, ())
        return len(shape) == 3 and shape[2] == 3 and self._dtypes[name] == np.uint8

    def _values(self, part) -> np.ndarray:
        return part[()]

    def _pictures(self, label: str, name: str):
        def read(start: int, stop: int) -> np.ndarray:
            with self._open() as file:
                group = _group(self._h5, file, label, self._path)
                return dict(self._datasets(group))[name][start:stop]

        return read

    def _read_masks(self, file) -> dict[str, set[str]]:
        if not isinstance(file.get("mask", getlink=True), self._h5.HardLink):
            return {}
        masks = {}
        for name in file["mask"]:
            part = file["mask"][name] if isinstance(file["mask"].get(name, getlink=True), self._h5.HardLink) else None
            if part is not None and getattr(part, "ndim", 0) == 1 and part.size <= MOST_EPISODES:
                masks[name] = {_text(demo) for demo in part[()]}
        return masks


def _require_h5py():
    try:
        import h5py
    except ImportError:
        raise UsageError("HDF5 needs h5py, which is not installed; run: pip install 'twinloop[ingest]'") from None
    return h5py


def _group(h5, file, name: str, path: Path):
    place = file
    for part in name.split("/"):
        if not isinstance(place.get(part, getlink=True), h5.HardLink):
            raise DatasetError(f"{path}: has no group {name}; a robomimic file has data/demo_0, data/demo_1, ...")
        place = place[part]
    if not isinstance(place, h5.Group):
        raise DatasetError(f"{path}: {name} is not a group")
    return place


def _attribute(place, name: str) -> Any:
    value = place.attrs.get(name)
    return _text(value) if isinstance(value, (bytes, str)) else value


def _text(value: object) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _json(value: object) -> dict[str, Any]:
    try:
        parsed = json.loads(value) if isinstance(value, str) else {}
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _stored_name(name: str) -> str:
    return NAMES.get(name) or (f"observation.{name[4:].replace('/', '.')}" if name.startswith("obs/") else name)


def _outcome(success: Any, rewards: np.ndarray | None) -> tuple[Outcome, str]:
    """(outcome, who determined it), from the attribute `success`, or from a reward of 0 and 1, robomimic's success."""
    if isinstance(success, (bool, np.bool_, int, np.integer)):
        return ("success" if bool(success) else "failure"), "detector"
    if rewards is not None and len(rewards) and set(np.unique(rewards).tolist()) == {0.0, 1.0}:
        return "success", "detector"
    return "unknown", ""
