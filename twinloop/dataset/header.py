"""Header: the properties that all shards of a dataset share and that identify the dataset."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast, get_args

from twinloop.durable import read_bounded
from twinloop.errors import CorruptError, DatasetError, nearest
from twinloop.observe.recording import Feature

from .seal import SEAL, sealed, unsealed

FORMAT_VERSION = 1
MOST_BYTES = 64 << 20  # the header of a merge stores one number per shard

CHANNELS = {"video": 3, "depth": 1, "mask": 1}
MOST_IDS = 256  # mask ids are 8 bits
PICTURE_SIDE = (16, 8192)  # pixels; supported by all encoders


@dataclass(frozen=True)
class Header:
    """The content of `dataset.json`.

    Attributes:
        name: name of the dataset.
        source: origin of the episodes: simulation, a robot, or both.
        robot: name of the robot.
        fps: frames per second.
        features: columns and images of a frame.
        phases: names of the values of the integer feature `phase`, in order.
        subtasks: words of the values of the integer feature `subtask_index`, in order.
        config_digest: digest of the config of the run.
        run_seed: seed of the run.
        shard_episodes: attempts per shard. The last shard may have fewer.
        episodes: planned attempts. A run may be continued with more of them.
        keep_rejected: whether rows of rejected episodes are stored too.
        versions: versions of all software that affects the values, `{"twinloop": ..., "mujoco": ...}`.
        format_version: version of the file format.
        cuts: first attempt of each shard, for shards of different sizes. Only a merge with images has them.
        config_sha256: SHA-256 of config.yaml. The writer sets it.
    """

    name: str
    source: Literal["sim", "real", "mixed"]
    robot: str
    fps: float
    features: tuple[Feature, ...]
    phases: tuple[str, ...]
    config_digest: str
    run_seed: int
    shard_episodes: int
    episodes: int
    keep_rejected: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    format_version: int = FORMAT_VERSION
    cuts: tuple[int, ...] = ()
    subtasks: tuple[str, ...] = ()
    config_sha256: str = ""

    def __post_init__(self) -> None:
        # 50 and 50.0 are the same frame rate and must give the same digest.
        if isinstance(self.fps, float) and self.fps.is_integer():
            object.__setattr__(self, "fps", int(self.fps))
        problem = _problem(self)
        if problem:
            raise DatasetError(f"header of dataset {self.name!r}: {problem}")

    def plan(self) -> list[tuple[int, int]]:
        """Return the attempt range [first, stop) of every shard of the complete dataset."""
        begins = self.cuts or range(0, self.episodes, self.shard_episodes)
        return list(pairwise((*begins, self.episodes)))

    @property
    def engine(self) -> str:
        """The versions as text: `mujoco 4.0, twinloop 0.1.0`."""
        return ", ".join(f"{name} {version}" for name, version in sorted(self.versions.items()))

    @property
    def columns(self) -> tuple[Feature, ...]:
        """The features that are columns of frames.parquet: all except images."""
        return tuple(feature for feature in self.features if not feature.is_picture)

    @property
    def pictures(self) -> tuple[Feature, ...]:
        return tuple(feature for feature in self.features if feature.is_picture)

    def feature(self, name: str) -> Feature:
        for feature in self.features:
            if feature.name == name:
                return feature
        known = (feature.name for feature in self.features)
        raise DatasetError(f"dataset {self.name!r} has no feature {name!r}; {nearest(name, known)}")

    def to_bytes(self) -> bytes:
        """Return the content of `dataset.json`, with a seal."""
        values = dataclasses.asdict(self)
        for key in ("cuts", "subtasks", "config_sha256"):  # older datasets lack these keys, so empty ones are left out
            if not values[key]:
                del values[key]
        return sealed(values, end="\n", indent=2)

    @classmethod
    def read(cls, path: Path) -> "Header":
        try:
            data = read_bounded(path, MOST_BYTES)
            values = unsealed(data)
            if "config_sha256" in values and f'"{SEAL}"'.encode() not in data:
                raise ValueError("has no checksum")
        except ValueError as error:
            raise CorruptError(f"{path}: {error}; a dataset header was expected") from None
        return cls.from_json(values, where=str(path))

    @classmethod
    def from_json(cls, values: object, *, where: str) -> "Header":
        if not isinstance(values, dict):
            raise DatasetError(f"{where}: contains a {type(values).__name__}; a mapping was expected")
        defaults: dict[str, Any] = {"cuts": (), "subtasks": (), "config_sha256": ""}
        values = {**defaults, **values}
        if values.get("format_version") != FORMAT_VERSION:
            given = values.get("format_version")
            valid = f"this version of twinloop reads {FORMAT_VERSION}"
            raise DatasetError(f"{where}: format_version: {given!r} was given, {valid}")
        known = {known.name for known in dataclasses.fields(cls)}
        for key in (*sorted(known), *values):
            if key not in values:
                raise DatasetError(f"{where}: {key}: is missing")
            if key not in known:
                raise DatasetError(f"{where}: {key}: unknown key; {nearest(key, known)}")
        try:
            features = tuple(_feature(value) for value in values["features"])
            names = {key: tuple(values[key]) for key in ("phases", "subtasks", "cuts")}
        except (TypeError, KeyError, ValueError) as error:
            raise DatasetError(f"{where}: features, phases, subtasks or cuts: malformed ({error})") from None
        try:
            return cls(**{**values, **names, "features": features})
        except DatasetError as error:
            raise DatasetError(f"{where}: {error}") from None


def _feature(value: dict) -> Feature:
    feature = Feature(**{**value, "shape": tuple(value["shape"]), "names": tuple(value.get("names", ()))})
    valid = cast(tuple[str, ...], get_args(Feature.__annotations__["dtype"]))
    if feature.dtype not in valid:
        raise ValueError(f"{feature.name}: dtype {feature.dtype!r}; valid are {', '.join(valid)}")
    return feature


def _problem(header: Header) -> str | None:
    kinds: dict[str, type | tuple[type, ...]] = {
        "name": str,
        "robot": str,
        "config_digest": str,
        "config_sha256": str,
        "run_seed": int,
        "shard_episodes": int,
        "episodes": int,
        "keep_rejected": bool,
        "fps": (int, float),
        "versions": Mapping,
    }
    for key, kind in kinds.items():
        value = getattr(header, key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            kind_name = " or ".join(option.__name__ for option in (kind if isinstance(kind, tuple) else (kind,)))
            return f"{key}: {value!r} was given, {kind_name} was expected"
    sources = cast(tuple[str, ...], get_args(Header.__annotations__["source"]))
    if header.source not in sources:
        return f"source: {header.source!r} was given, valid are {', '.join(sources)}"
    for key, least in (("fps", 0), ("shard_episodes", 0), ("episodes", -1)):
        if getattr(header, key) <= least:
            return f"{key}: {getattr(header, key)!r} was given, it must be more than {least}"
    if header.cuts and not _are_cuts(header.cuts, header.episodes):
        return f"cuts: {list(header.cuts)} was given, attempts in order from 0 to below {header.episodes} were expected"
    names = [feature.name for feature in header.features]
    if len(set(names)) < len(names):
        return f"features: a name occurs twice: {', '.join(sorted(names))}"
    for feature in header.pictures:
        problem = _picture_problem(feature)
        if problem:
            return f"features: {feature.name} {problem}"
    for feature in header.columns:
        if len(feature.shape) != 1 or feature.shape[0] < 1:
            return f"features: {feature.name} has shape {feature.shape}; a vector (n,) was expected"
        if feature.names and len(feature.names) != feature.shape[0]:
            return f"features: {feature.name} has {feature.shape[0]} elements and {len(feature.names)} names"
    return None


def _are_cuts(cuts: tuple[int, ...], episodes: int) -> bool:
    whole = all(isinstance(cut, int) and not isinstance(cut, bool) for cut in cuts)
    return whole and cuts[0] == 0 and all(before < after for before, after in pairwise((*cuts, episodes)))


def _picture_problem(feature: Feature) -> str | None:
    channels, (least, most) = CHANNELS[feature.dtype], PICTURE_SIDE
    if len(feature.shape) != 3 or feature.shape[2] != channels:
        return f"has shape {feature.shape}; (height, width, {channels}) was expected for {feature.dtype}"
    if not all(least <= side <= most for side in feature.shape[:2]):
        return f"has shape {feature.shape}; its sides must be from {least} to {most}"
    if feature.dtype == "mask" and len(feature.names) > MOST_IDS:
        return f"has {len(feature.names)} names; a mask has at most {MOST_IDS} labels"
    # The name is used as a file name, in the shard and in the export.
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", feature.name):
        return "is an image; its name may contain only letters, digits, dots, dashes and underscores"
    return None
