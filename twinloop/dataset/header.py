"""Header: the properties that all shards of a dataset share and that identify the dataset."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from twinloop.config.compound import Listed, Mapped, Texts
from twinloop.config.fields import integer, number, of_kind, text, version, word
from twinloop.config.kinds import Flag, Integer, Text
from twinloop.config.record import check_record, json_schema, read_record, write_record
from twinloop.config.section import Section
from twinloop.durable import read_bounded
from twinloop.errors import ConfigError, CorruptError, DatasetError, nearest
from twinloop.observe.recording import Feature

from .seal import SEAL, sealed, unsealed

FORMAT_VERSION = 1
MOST_BYTES = 64 << 20  # the header of a merge stores one number per shard

CHANNELS = {"video": 3, "depth": 1, "mask": 1}
MOST_IDS = 256  # mask ids are 8 bits
PICTURE_SIDE = (16, 8192)  # pixels; supported by all encoders


@dataclass(frozen=True, kw_only=True)
class Header:
    """The content of `dataset.json`.

    Attributes:
        features: columns and images of a frame.
        phases: names of the values of the integer feature `phase`, in order.
        config_digest: digest of the config of the run.
        run_seed: seed of the run.
    """

    name: str = text(help="name of the dataset")
    source: Literal["sim", "real", "mixed"] = word(
        words=("sim", "real", "mixed"), help="origin of the episodes: simulation, a robot, or both"
    )
    robot: str = text(help="name of the robot")
    fps: float = number(low=0, above=True, unit="Hz", help="frames per second")
    features: tuple[Feature, ...]
    phases: tuple[str, ...]
    config_digest: str
    run_seed: int
    shard_episodes: int = integer(low=1, help="attempts per shard; the last shard may have fewer")
    episodes: int = integer(low=0, help="planned attempts; a run may be continued with more of them")
    keep_rejected: bool = of_kind(Flag(required=True, help="rows of rejected episodes are stored too"), False)
    versions: Mapping[str, str] = of_kind(
        Mapped(item=Text(), required=True, help="versions of all software that affects the values"),
        default_factory=dict,
    )
    format_version: int = version(FORMAT_VERSION)
    cuts: tuple[int, ...] = of_kind(
        Listed(
            item=Integer(low=0), what="attempt", omit_default=True,
            help="first attempt of each shard, for shards of different sizes; only a merge with images has them",
        ),
        (),
    )  # fmt: skip
    subtasks: tuple[str, ...] = of_kind(
        Texts(
            empty=True, omit_default=True, help="words of the values of the integer feature `subtask_index`, in order"
        ),
        (),
    )
    config_sha256: str = of_kind(Text(omit_default=True, help="SHA-256 of config.yaml; the writer sets it"), "")

    def __post_init__(self) -> None:
        # 50 and 50.0 are the same frame rate and must give the same digest.
        if isinstance(self.fps, float) and self.fps.is_integer():
            object.__setattr__(self, "fps", int(self.fps))
        try:
            check_record(self)
        except ConfigError as error:
            raise DatasetError(f"header of dataset {self.name!r}: {error}") from None

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.cuts and not _are_cuts(self.cuts, self.episodes):
            expected = f"attempts in order from 0 to below {self.episodes} were expected"
            yield "cuts", f"is {list(self.cuts)}; {expected}"
        names = [feature.name for feature in self.features]
        if len(set(names)) < len(names):
            yield "features", f"has a name twice: {', '.join(sorted(names))}"
        for feature in self.features:
            problem = _picture_problem(feature) if feature.is_picture else _column_problem(feature)
            if problem:
                yield "features", f"{feature.name} {problem}"

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
        return sealed(write_record(self), end="\n", indent=2)

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
        try:
            return read_record(cls, Section("", "", values, {}))
        except (ConfigError, DatasetError) as error:
            raise DatasetError(f"{where}: {error}") from None


def dataset_schema() -> dict[str, Any]:
    """JSON Schema of `dataset.json`, which has a seal beside the header."""
    schema = json_schema(Header, title="Twinloop header of a dataset")
    schema["properties"][SEAL] = {"type": "string", "description": "SHA-256 of the file, with zeros in its place"}
    return schema


def _are_cuts(cuts: tuple[int, ...], episodes: int) -> bool:
    return cuts[0] == 0 and all(before < after for before, after in pairwise((*cuts, episodes)))


def _column_problem(feature: Feature) -> str | None:
    if len(feature.shape) != 1 or feature.shape[0] < 1:
        return f"has shape {feature.shape}; a vector (n,) was expected"
    if feature.names and len(feature.names) != feature.shape[0]:
        return f"has {feature.shape[0]} elements and {len(feature.names)} names"
    return None


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
