"""The geoms of a body as Rerun shapes. A mesh is shown as its bounding box."""

import mujoco
import numpy as np
import rerun as rr

G = mujoco.mjtGeom


def shapes_of(model: mujoco.MjModel, body: int) -> dict[str, rr.AsComponents]:
    """Kind -> all geoms of that kind, in the body's frame."""
    geoms = geoms_of(model, body)
    makers = {
        "capsules": _capsules, "cylinders": _cylinders, "ellipsoids": _ellipsoids, "boxes": _boxes, "ground": _ground,
    }  # fmt: skip
    of_kind = {kind: geoms[[KINDS.get(int(model.geom_type[geom])) == kind for geom in geoms]] for kind in makers}
    return {kind: makers[kind](model, same_kind) for kind, same_kind in of_kind.items() if len(same_kind)}


def geoms_of(model: mujoco.MjModel, body: int) -> np.ndarray:
    """The used geoms of a body. An object has geoms for all shapes; those its draw does not use have no contacts."""
    geoms = np.flatnonzero(model.geom_bodyid == body)
    solid = geoms[(model.geom_contype[geoms] | model.geom_conaffinity[geoms]) != 0]
    return solid if model.body(body).name == "object" and len(solid) else geoms


KINDS = {
    G.mjGEOM_CAPSULE.value: "capsules",
    G.mjGEOM_CYLINDER.value: "cylinders",
    G.mjGEOM_SPHERE.value: "ellipsoids",
    G.mjGEOM_ELLIPSOID.value: "ellipsoids",
    G.mjGEOM_BOX.value: "boxes",
    G.mjGEOM_MESH.value: "boxes",
    G.mjGEOM_HFIELD.value: "ground",
}
GROUND_STEP = 2
"""Every second point of a height field is shown."""


def _capsules(model: mujoco.MjModel, geoms: np.ndarray) -> rr.AsComponents:
    radius, half = model.geom_size[geoms, 0], model.geom_size[geoms, 1]
    # MuJoCo's capsules are centred at their origin, Rerun's begin there.
    starts = model.geom_pos[geoms] - half[:, None] * _axes(model, geoms)[:, :, 2]
    return rr.Capsules3D(
        lengths=2 * half, radii=radius, translations=starts, quaternions=_turns(model, geoms),
        colors=_colours(model, geoms), fill_mode="solid",
    )  # fmt: skip


def _cylinders(model: mujoco.MjModel, geoms: np.ndarray) -> rr.AsComponents:
    return rr.Cylinders3D(
        lengths=2 * model.geom_size[geoms, 1], radii=model.geom_size[geoms, 0], centers=model.geom_pos[geoms],
        quaternions=_turns(model, geoms), colors=_colours(model, geoms), fill_mode="solid",
    )  # fmt: skip


def _ellipsoids(model: mujoco.MjModel, geoms: np.ndarray) -> rr.AsComponents:
    sphere = model.geom_type[geoms] == G.mjGEOM_SPHERE.value
    half = np.where(sphere[:, None], model.geom_size[geoms, :1], model.geom_size[geoms])
    return rr.Ellipsoids3D(
        half_sizes=half, centers=model.geom_pos[geoms], quaternions=_turns(model, geoms),
        colors=_colours(model, geoms), fill_mode="solid",
    )  # fmt: skip


def _boxes(model: mujoco.MjModel, geoms: np.ndarray) -> rr.AsComponents:
    mesh = (model.geom_type[geoms] == G.mjGEOM_MESH.value)[:, None]
    half = np.where(mesh, model.geom_aabb[geoms, 3:], model.geom_size[geoms])
    offset = np.where(mesh, model.geom_aabb[geoms, :3], 0.0)
    centres = model.geom_pos[geoms] + np.einsum("nij,nj->ni", _axes(model, geoms), offset)
    return rr.Boxes3D(
        half_sizes=half, centers=centres, quaternions=_turns(model, geoms), colors=_colours(model, geoms),
        fill_mode="solid",
    )  # fmt: skip


def _ground(model: mujoco.MjModel, geoms: np.ndarray) -> rr.AsComponents:
    """A height field as a mesh of triangles."""
    geom = int(geoms[0])
    field = int(model.geom_dataid[geom])
    rows, columns, start = (int(values[field]) for values in (model.hfield_nrow, model.hfield_ncol, model.hfield_adr))
    half_x, half_y, tall, _ = model.hfield_size[field]
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns)[::GROUND_STEP, ::GROUND_STEP]
    y, x = (np.linspace(-half, half, count)[::GROUND_STEP] for half, count in ((half_y, rows), (half_x, columns)))
    places = np.stack([*np.meshgrid(x, y), tall * heights], axis=-1).reshape(-1, 3) + model.geom_pos[geom]
    wide = len(x)
    corner = (np.arange(len(y) - 1)[:, None] * wide + np.arange(wide - 1)).ravel()
    triangles = np.concatenate([
        np.stack([corner, corner + 1, corner + wide], axis=1),
        np.stack([corner + 1, corner + wide + 1, corner + wide], axis=1),
    ])  # fmt: skip
    return rr.Mesh3D(vertex_positions=places, triangle_indices=triangles, albedo_factor=_colours(model, geoms)[0])


def _axes(model: mujoco.MjModel, geoms: np.ndarray) -> np.ndarray:
    axes = np.zeros((len(geoms), 9))
    for number, geom in enumerate(geoms):
        mujoco.mju_quat2Mat(axes[number], model.geom_quat[geom])
    return axes.reshape(-1, 3, 3)


def _turns(model: mujoco.MjModel, geoms: np.ndarray) -> np.ndarray:
    """Rerun's quaternions end in w."""
    return np.roll(model.geom_quat[geoms], -1, axis=1)


def _colours(model: mujoco.MjModel, geoms: np.ndarray) -> np.ndarray:
    return np.round(255 * model.geom_rgba[geoms]).astype(np.uint8)
