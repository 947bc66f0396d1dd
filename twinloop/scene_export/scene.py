"""CompleteScene: a snapshot as one model with physics, state and looks, checked against the snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.scene_export.looks import add_looks
from twinloop.scene_export.snapshot import STATE, Snapshot
from twinloop.scene_export.spec import spec_of

START = "start"
STEPS = 100
SMALLEST = 1e-7


@dataclass(frozen=True)
class SceneCheck:
    """How much the exported model differs from the snapshot's.

    Attributes:
        mass_kg: largest difference of a body's mass.
        state: largest difference of a coordinate after `STEPS` steps with constant commands.
    """

    mass_kg: float
    state: float


@dataclass(frozen=True)
class CompleteScene:
    """Everything that is exported.

    Attributes:
        spec: compiles to `model`; its `assets` are the files of meshes and textures.
        data: the state at the start, with all poses computed.
        notes: what differs from the snapshot in every format.
    """

    spec: mujoco.MjSpec
    model: mujoco.MjModel
    data: mujoco.MjData
    notes: tuple[str, ...]
    check: SceneCheck
    origin: Mapping[str, object]


def scene_of(snapshot: Snapshot) -> CompleteScene:
    spec, notes = spec_of(snapshot.model)
    if snapshot.looks is not None:
        add_looks(spec, snapshot.model, snapshot.looks)
    spec.add_key(
        name=START, qpos=snapshot.state["qpos"], qvel=snapshot.state["qvel"], act=snapshot.state["act"],
        ctrl=snapshot.state["ctrl"], mpos=snapshot.state["mocap_pos"].ravel(),
        mquat=snapshot.state["mocap_quat"].ravel(),
    )  # fmt: skip
    try:
        model = spec.compile()
    except ValueError as error:
        raise ModelError(f"the cell does not compile again from its own values: {error}") from error
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(START).id)
    check = _check(snapshot, model, data)
    mujoco.mj_forward(model, data)
    if check.state > SMALLEST:
        notes.append(f"physics: after {STEPS} steps a coordinate differs from the twin by {check.state:.1e} (rad or m)")
    return CompleteScene(spec, model, data, tuple(notes), check, snapshot.origin)


def _check(snapshot: Snapshot, model: mujoco.MjModel, data: mujoco.MjData) -> SceneCheck:
    """Step both models from the same state."""
    source = mujoco.MjData(snapshot.model)
    for name in STATE:
        getattr(source, name)[:] = snapshot.state[name]
    twin = mujoco.MjData(model)
    mujoco.mj_copyState(model, data, twin, mujoco.mjtState.mjSTATE_INTEGRATION.value)
    for _ in range(STEPS):
        mujoco.mj_step(snapshot.model, source)
        mujoco.mj_step(model, twin)
    same = np.array_equal(source.qpos, twin.qpos, equal_nan=True)
    difference = np.nan_to_num(np.abs(source.qpos - twin.qpos), nan=np.inf)
    return SceneCheck(
        mass_kg=float(np.abs(snapshot.model.body_mass - model.body_mass).max()),
        state=0.0 if same else float(difference.max()),
    )
