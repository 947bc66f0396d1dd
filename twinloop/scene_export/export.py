"""Export a snapshot: Snapshot -> a folder with the files of one format, `scene.json` and `NOTES.txt`."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from twinloop.scene_export.files import INDEX, MARK, NOTES, SceneFiles, refuse_foreign, write_folder
from twinloop.scene_export.mjcf import mjcf_files
from twinloop.scene_export.scene import STEPS, CompleteScene, scene_of
from twinloop.scene_export.snapshot import Snapshot
from twinloop.scene_export.transforms import matrix, quaternion
from twinloop.scene_export.urdf import urdf_files
from twinloop.scene_export.usd import usd_files

SceneFormat = Literal["usd", "mjcf", "urdf"]
FORMATS: tuple[SceneFormat, ...] = get_args(SceneFormat)
WRITERS: dict[SceneFormat, Callable[[CompleteScene], SceneFiles]] = {
    "usd": usd_files,
    "mjcf": mjcf_files,
    "urdf": urdf_files,
}


@dataclass(frozen=True)
class ExportedScene:
    """The exported files.

    Attributes:
        main: the file to open.
        notes: what the format cannot express.
        bodies: number of bodies in the scene.
        bytes: of all files.
    """

    folder: Path
    main: Path
    files: tuple[str, ...]
    notes: tuple[str, ...]
    scene: CompleteScene
    bytes: int


def export_scene(snapshot: Snapshot, folder: Path, scene_format: SceneFormat) -> ExportedScene:
    """Write a snapshot to a folder, which must be new, empty or an earlier export. Nothing is half-written.

    Raises:
        UsageError: the folder has other files, or the format's package is not installed.
        ModelError: the model cannot be compiled again.
        StorageError: the folder cannot be written.
    """
    refuse_foreign(folder)
    scene = scene_of(snapshot)
    written = WRITERS[scene_format](scene)
    notes = (*scene.notes, *written.notes)
    files = {**written.files, NOTES: _notes_text(scene_format, written.main, notes).encode()}
    index = {
        MARK: {"format": scene_format, "main": written.main, "files": sorted(files)},
        **scene.origin,
        **_index(scene),
        **(written.index or {}),
        "notes": list(notes),
    }
    files[INDEX] = (json.dumps(index, indent=1, ensure_ascii=False) + "\n").encode()
    write_folder(folder, files)
    size = sum(len(content) for content in files.values())
    return ExportedScene(folder, folder / written.main, tuple(sorted(files)), notes, scene, size)


def _index(scene: CompleteScene) -> dict[str, object]:
    model, data = scene.model, scene.data
    return {
        "timestep_s": float(model.opt.timestep),
        "gravity_m_s2": np.array(model.opt.gravity).tolist(),
        "check": {
            "steps": STEPS,
            "largest_mass_difference_kg": scene.check.mass_kg,
            "largest_state_difference": scene.check.state,
        },
        "bodies": [
            {
                "name": model.body(body).name,
                "parent": model.body(int(model.body_parentid[body])).name,
                "mass_kg": float(model.body_mass[body]),
                "position_m": data.xpos[body].tolist(),
                "quaternion_wxyz": data.xquat[body].tolist(),
            }
            for body in range(1, model.nbody)
        ],
        "joint_positions": {
            model.joint(joint).name: data.qpos[start : start + width].tolist()
            for joint in range(model.njnt)
            for start, width in [(int(model.jnt_qposadr[joint]), (7, 4, 1, 1)[int(model.jnt_type[joint])])]
        },
        "cameras": [
            {
                "name": model.camera(camera).name,
                "body": model.body(int(model.cam_bodyid[camera])).name,
                "position_m": model.cam_pos[camera].tolist(),
                # x right, y down, z forward; the engine's camera has y up and looks along -z.
                "quaternion_wxyz": quaternion(matrix(model.cam_quat[camera]) * [1, -1, -1]).tolist(),
                "vertical_fov_deg": float(model.cam_fovy[camera]),
                "pixels": model.cam_resolution[camera].tolist(),
            }
            for camera in range(model.ncam)
        ],
    }


def _notes_text(scene_format: SceneFormat, main: str, notes: tuple[str, ...]) -> str:
    lines = [
        f"A cell exported by Twinloop as {scene_format.upper()}. Begin with {main}.",
        f"{INDEX} has masses, poses and joint positions at the start, and the values that the episode has drawn.",
        "",
        "What is different from the twin, and what this format cannot express:",
        *(f"- {note}" for note in notes),
    ]
    return "\n".join(lines) + "\n"
