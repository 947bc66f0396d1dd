"""A curator on disk: one NumPy archive of numbers, with its description as JSON text inside. No pickle."""

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.curate.discriminator.channel_model import ChannelModel
from twinloop.curate.discriminator.curator import Curator
from twinloop.curate.discriminator.feature_model import FeatureModel
from twinloop.curate.discriminator.feature_scales import ColumnScale
from twinloop.curate.discriminator.hand_contact import HandModel
from twinloop.curate.discriminator.head import FaultHead
from twinloop.curate.discriminator.images import ImageModel
from twinloop.curate.discriminator.posture_support import PostureSupport
from twinloop.curate.discriminator.scene_model import SceneModel
from twinloop.curate.discriminator.single_channels import ChannelRanges
from twinloop.curate.discriminator.trajectories import TrajectorySchema
from twinloop.durable import read_bounded, replace_file, storage_errors
from twinloop.errors import CorruptError, UsageError

FILE = "curator.npz"
FORMAT = 5
MOST_BYTES = 256 << 20
DESCRIPTION = "description"


def save_curator(curator: Curator, folder: Path) -> Curator:
    """Write a curator to `folder`/curator.npz. Returns it with the digest of the file."""
    arrays: dict[str, np.ndarray] = {
        "limits": curator.limits,
        "weights": curator.head.weights,
        "centre": curator.centre,
    }
    for number, model in enumerate(curator.model.models):
        arrays[f"models/{number}/weights"] = model.weights
    for name, values in curator.model.ranges.ends.items():
        arrays[f"ranges/{name}"] = np.asarray(values)
    for name, values in curator.model.support.points.items():
        arrays[f"support/{name}/points"] = values
        arrays[f"support/{name}/reach"] = curator.model.support.reach[name]
    if curator.model.scene is not None:
        for name, values in vars(curator.model.scene).items():
            arrays[f"scene/{name}"] = values
    if curator.model.hand is not None:
        arrays["hand"] = curator.model.hand.usual
    for name, values in curator.model.frame_scales.items():
        arrays[f"frame_scales/{name}"] = values
    for group, scales in (("tables", curator.model.tables), ("ends", curator.model.ends)):
        for name, scale in scales.items():
            arrays[f"{group}/{name}/median"], arrays[f"{group}/{name}/tail"] = scale.median, scale.tail
    for camera, images in curator.model.images.items():
        for part, values in images.arrays().items():
            arrays[f"images/{camera}/{part}"] = values
    description = {
        "format": FORMAT,
        "schema": {
            "robot": curator.schema.robot, "rate_hz": curator.schema.rate_hz,
            "elements": {name: list(elements) for name, elements in curator.schema.elements.items()},
            "cameras": list(curator.schema.cameras),
        },
        "models": [[model.feature, list(model.columns), model.step, model.free] for model in curator.model.models],
        "tables": list(curator.model.tables), "ends": list(curator.model.ends),
        "constant": curator.head.constant, "threshold": curator.threshold, "card": dict(curator.card),
    }  # fmt: skip
    text = json.dumps(description, ensure_ascii=False)
    arrays[DESCRIPTION] = np.frombuffer(text.encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    with storage_errors(folder, needed_bytes=buffer.tell()):
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / FILE, buffer.getvalue(), scratch=folder)
    return replace(curator, digest=hashlib.sha256(buffer.getvalue()).hexdigest())


def curator_version(data: bytes | None) -> dict[str, str]:
    """The entry of a curator among the versions of a dataset, empty for None."""
    return {} if data is None else {"curator": hashlib.sha256(data).hexdigest()[:16]}


def read_curator(path: Path) -> bytes:
    """The content of a curator's file, given as the file or as the folder that holds it."""
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            f"{path}: there is no curator; a folder with {FILE}, or that file, was expected. "
            "Train one: twinloop curate DATASET --out DIR"
        )
    return read_bounded(file, MOST_BYTES)


def load_curator(path: Path) -> Curator:
    """Read a curator from its file, or from the folder that holds it."""
    return curator_from_bytes(read_curator(path), where=str(path))


def curator_from_bytes(data: bytes, *, where: str) -> Curator:
    """Read a curator from the content of its file; `where` names the file in messages."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        description = json.loads(bytes(arrays[DESCRIPTION]))
        if description["format"] != FORMAT:
            raise ValueError(f"has format {description['format']}; this version reads {FORMAT}")
        curator = _curator(arrays, description)
    except (ValueError, KeyError, TypeError, IndexError, OSError, zipfile.BadZipFile) as error:
        raise CorruptError(f"{where}: is not a curator ({error!s:.200}). Train it again") from None
    return replace(curator, digest=hashlib.sha256(data).hexdigest())


def _curator(arrays: dict[str, np.ndarray], description: dict[str, Any]) -> Curator:
    schema = description["schema"]
    models = tuple(
        ChannelModel(str(feature), tuple(map(int, columns)), bool(step), bool(free), arrays[f"models/{number}/weights"])
        for number, (feature, columns, step, free) in enumerate(description["models"])
    )  # fmt: skip
    cameras = tuple(str(camera) for camera in schema["cameras"])
    scales = {
        group: {
            str(name): ColumnScale(arrays[f"{group}/{name}/median"], arrays[f"{group}/{name}/tail"])
            for name in description[group]
        }
        for group in ("tables", "ends")
    }
    model = FeatureModel(
        models=models,
        ranges=ChannelRanges(_below(arrays, "ranges/")),
        support=PostureSupport(_of_support(arrays, "/points"), _of_support(arrays, "/reach")),
        scene=SceneModel(**scene) if (scene := _below(arrays, "scene/")) else None,
        hand=HandModel(arrays["hand"]) if "hand" in arrays else None,
        frame_scales=_below(arrays, "frame_scales/"),
        tables=scales["tables"],
        ends=scales["ends"],
        images={camera: ImageModel(**_below(arrays, f"images/{camera}/")) for camera in cameras},
    )
    elements = {str(name): tuple(map(str, names)) for name, names in schema["elements"].items()}
    return Curator(
        schema=TrajectorySchema(str(schema["robot"]), float(schema["rate_hz"]), elements, cameras),
        model=model,
        limits=arrays["limits"],
        head=FaultHead(arrays["weights"], float(description["constant"])),
        centre=arrays["centre"],
        threshold=float(description["threshold"]),
        card=dict(description["card"]),
    )


def _of_support(arrays: dict[str, np.ndarray], part: str) -> dict[str, np.ndarray]:
    support = _below(arrays, "support/")
    return {name.removesuffix(part): values for name, values in support.items() if name.endswith(part)}


def _below(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
