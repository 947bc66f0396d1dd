"""Build batches for the rasterizer: which geom is where in which frame, with which light."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.observe.drawn_geoms import DrawnGeoms
from twinloop.observe.rasterizer import NEAR_M, FrameBatch, shader_of
from twinloop.observe.shading import FRAME, INSTANCE, LIGHTS
from twinloop.observe.soft_surface import SoftSurface
from twinloop.observe.stage import CENTRE_M, Stage
from twinloop.observe.tessellation import TriangleMesh

SHADOW_HALF_M = 0.68
"""Half the width of the area that shadow maps cover: the table."""
SHADOW_DEPTH_M = 1.5
BIAS = 0.002
LARGE_M = 0.3
"""Geoms with a larger radius, such as the table, are drawn after the others."""


@dataclass(frozen=True)
class Look:
    """Everything of a draw that frames share.

    Attributes:
        lights: one record of FRAME without its camera.
        mirrors: geom whose upper face shows a mirror image -> (g,) geoms that are below it.
    """

    geoms: DrawnGeoms
    lights: np.ndarray
    mirrors: Mapping[int, np.ndarray]


def look_of(stage: Stage, geoms: DrawnGeoms, *, mirrors: bool) -> Look:
    model = stage.model
    record = np.zeros((), FRAME)
    record["ambient"][:3] = model.vis.headlight.ambient
    own = [*stage.lights, stage.sun]
    # The light that casts the shadow comes first.
    own.sort(key=lambda light: not model.light_castshadow[light])
    for number, light in enumerate(own[:LIGHTS]):
        if model.light_active[light]:
            record["lights"][number, 0, :3] = -model.light_dir[light]
            record["lights"][number, 0, 3] = model.light_specular[light].mean()
            record["lights"][number, 1, :3] = model.light_diffuse[light]
    record["shadow"] = shadow_matrix(-model.light_dir[own[0]])
    mirrored: dict[int, np.ndarray] = {}
    floor, table = model.geom("floor").id, model.geom("table").id
    for geom in (floor, table):
        if mirrors and geoms.surface[geom, 3] > 0:
            mirrored[geom] = np.arange(len(geoms.shapes)) == floor
            if geom == table:
                mirrored[geom][: model.ngeom] |= model.geom_bodyid == stage.table_body
    return Look(geoms, record, mirrored)


def shadow_matrix(towards: np.ndarray) -> np.ndarray:
    """(4, 4) world to coordinates of the shadow map, 0 to 1, for a light in this direction."""
    towards = towards / np.linalg.norm(towards)
    right = np.cross([0.0, 0.0, 1.0], towards)
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-6 else np.array([1.0, 0, 0])
    matrix = np.eye(4)
    matrix[:3, :3] = np.stack([
        right / (2 * SHADOW_HALF_M), np.cross(towards, right) / (2 * SHADOW_HALF_M), -towards / (2 * SHADOW_DEPTH_M)
    ])  # fmt: skip
    matrix[:3, 3] = 0.5 - matrix[:3, :3] @ np.array(CENTRE_M)
    matrix[2, 3] -= BIAS
    return matrix


def clip_matrices(camera_to_world: np.ndarray, fov_deg: np.ndarray, width: int, height: int) -> np.ndarray:
    """(f, 4, 4) world to clip space for cameras with x right, y down, z forward; depth is near / z."""
    focal = 1 / np.tan(np.deg2rad(fov_deg) / 2)
    turn = camera_to_world[:, :3, :3].swapaxes(-1, -2)
    shift = -(turn @ camera_to_world[:, :3, 3:])
    seen = np.concatenate([turn, shift], axis=2)
    out = np.zeros((len(seen), 4, 4))
    out[:, 0] = (focal * height / width)[:, None] * seen[:, 0]
    out[:, 1] = -focal[:, None] * seen[:, 1]
    out[:, 2, 3] = NEAR_M
    out[:, 3] = seen[:, 2]
    return out


def reflection(pose: np.ndarray, lift_m: float) -> np.ndarray:
    """(4, 4) reflection in the plane of a pose, `lift_m` along its z axis."""
    normal = pose[:3, 2]
    distance = normal @ pose[:3, 3] + lift_m
    matrix = np.eye(4)
    matrix[:3, :3] -= 2 * np.outer(normal, normal)
    matrix[:3, 3] = 2 * distance * normal
    return matrix


@dataclass(frozen=True)
class Views:
    """f frames of one size.

    Attributes:
        looks: the look of each frame.
        states: (f,) which of the poses each frame shows. Frames of one state share a shadow map.
        geoms_to_world: (s, g, 4, 4) poses.
        soft_m: (s, v, 3) vertices of all soft objects; None without any.
        camera_to_world: (f, 4, 4).
        fov_deg: (f,).
    """

    looks: tuple[Look, ...]
    states: np.ndarray
    geoms_to_world: np.ndarray
    soft_m: np.ndarray | None
    camera_to_world: np.ndarray
    fov_deg: np.ndarray
    width: int
    height: int


def batch_of(
    views: Views, codes: np.ndarray, *, shadows: bool, coarse: np.ndarray, soft: Sequence[SoftSurface] = ()
) -> FrameBatch:
    """The batch with all frames.

    Args:
        codes: (g,) code of each geom in masks.
        coarse: (shapes,) shape that stands for each in shadow maps and mirror images. Shapes of soft objects follow.
        soft: soft objects.
    """
    frames = np.array([look.lights for look in views.looks], FRAME)
    clip = clip_matrices(views.camera_to_world, views.fov_deg, views.width, views.height)
    frames["clip"], frames["eye"][:, :3] = clip, views.camera_to_world[:, :3, 3]
    known, first, number = np.unique(views.states, return_index=True, return_inverse=True)
    poses = views.geoms_to_world[views.states]
    place = np.zeros((len(frames), len(codes), 4), np.float32)
    place[..., 0], place[..., 1] = np.arange(len(frames))[:, None], codes / 255
    place[..., 2], place[..., 3] = number[:, None] if shadows else -1, -1
    shapes = np.stack([look.geoms.shapes for look in views.looks])
    changing: tuple[TriangleMesh, ...] = ()
    if views.soft_m is not None:
        shapes[:, -len(soft) :] = len(coarse) + number[:, None] * len(soft) + np.arange(len(soft))
        changing = tuple(surface.shape(vertices) for vertices in views.soft_m[known] for surface in soft)
        coarse = np.append(coarse, len(coarse) + np.arange(len(changing)))
    mirrored = None
    if any(look.mirrors for look in views.looks):
        mirrored = _mirror_batch(views, frames, poses, place, np.where(shapes < 0, -1, coarse[shapes]))
    drawn = _instances(views.looks, poses, place)
    visible = (shapes >= 0) & _in_view(views, views.looks, views.fov_deg, clip, poses)
    order, opaque = _order(shapes, drawn, visible, clip, poses, _radius_m(views.looks))
    casters, caster_shapes = drawn[:0, 0], shapes[:0, 0]
    if shadows:
        # One frame of each state is enough.
        casts = np.stack([look.geoms.casts for look in views.looks])[first] & (shapes[first] >= 0)
        chosen = np.flatnonzero(casts.ravel())
        caster_shapes = coarse[shapes[first].ravel()[chosen]]
        order_of_shapes = np.argsort(caster_shapes, kind="stable")
        casters, caster_shapes = drawn[first].ravel()[chosen[order_of_shapes]], caster_shapes[order_of_shapes]
    return FrameBatch(
        frames, drawn.ravel()[order], shapes.ravel()[order], opaque, casters, caster_shapes,
        len(known) if shadows else 0, mirrored, changing=changing,
    )  # fmt: skip


def _instances(looks: tuple[Look, ...], poses: np.ndarray, place: np.ndarray) -> np.ndarray:
    drawn = np.zeros(place.shape[:2], INSTANCE)
    drawn["axes"], drawn["place"] = poses[:, :, :3], place
    for field in ("scale", "rgba", "surface", "texture"):
        one = all(look is looks[0] for look in looks)
        drawn[field] = (
            getattr(looks[0].geoms, field) if one else np.stack([getattr(look.geoms, field) for look in looks])
        )
    return drawn


def _radius_m(looks: tuple[Look, ...]) -> np.ndarray:
    """(f, g) of the spheres around the geoms; 0 for planes."""
    return np.stack([look.geoms.radius_m for look in looks])


def _in_view(
    views: Views, looks: tuple[Look, ...], fov_deg: np.ndarray, clip: np.ndarray, poses: np.ndarray
) -> np.ndarray:
    """(f, g) whether the sphere around a geom, or a plane, reaches into the image."""
    centres = np.concatenate([poses[:, :, :3, 3], np.ones((*poses.shape[:2], 1))], axis=2)
    x, y, _, ahead = np.moveaxis(centres @ clip.swapaxes(-1, -2), -1, 0)
    radius = _radius_m(looks)
    focal_y = 1 / np.tan(np.deg2rad(fov_deg) / 2)[:, None]
    focal_x = focal_y * views.height / views.width
    inside = ahead > -radius
    for along, focal in ((x, focal_x), (y, focal_y)):
        # The distance of the centre from each side of the view, times the length of the side's normal.
        inside &= np.abs(along) - ahead < radius * np.sqrt(1 + focal * focal)
    planes = np.flatnonzero((radius == 0).any(axis=0))
    inside[:, planes] |= (radius[:, planes] == 0) & _reaches_into_view(planes, looks, clip, poses)
    return inside


def _reaches_into_view(planes: np.ndarray, looks: tuple[Look, ...], clip: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """(f, planes) whether the corners of a plane are not all beyond the same side of the view.

    A geom that is no plane and has no radius, such as a soft object, counts as visible.
    """
    scale = np.stack([look.geoms.scale[planes] for look in looks])
    flat = np.stack([look.geoms.shapes[planes] for look in looks]) == 0
    corners = np.ones((*scale.shape[:2], 4, 4))
    corners[..., :3] = np.array([[-1, -1, 0], [-1, 1, 0], [1, -1, 0], [1, 1, 0]]) * scale[:, :, None, :3]
    projected = corners @ (clip[:, None] @ poses[:, planes]).swapaxes(-1, -2)
    ahead = projected[..., 3:]
    beyond = np.concatenate([projected[..., :2] > ahead, projected[..., :2] < -ahead, ahead <= 0], axis=-1)
    return ~flat | ~beyond.all(axis=2).any(axis=-1)


def _order(
    shapes: np.ndarray, drawn: np.ndarray, visible: np.ndarray, clip: np.ndarray, poses: np.ndarray,
    radius_m: np.ndarray,
) -> tuple[np.ndarray, int]:  # fmt: skip
    """Instances by shader and shape, large ones and then planes last, then transparent ones, farthest first; and the
    number of opaque ones."""
    blended = visible & (drawn["rgba"][..., 3] < 0.999)
    opaque = np.flatnonzero((visible & ~blended).ravel())
    # Small things in front are drawn first: pixels of table and room behind them are then not computed.
    background = np.where(shapes == 0, 2, radius_m > LARGE_M).ravel()
    opaque = opaque[np.lexsort((shapes.ravel()[opaque], shader_of(drawn.ravel()[opaque]), background[opaque]))]
    if not blended.any():
        return opaque, len(opaque)
    ahead = (poses[:, :, :3, 3] * clip[:, None, 3, :3]).sum(axis=-1) + clip[:, None, 3, 3]
    rank = np.argsort(np.argsort(np.where(blended, -ahead, np.inf), axis=1), axis=1)
    others = np.flatnonzero(blended.ravel())
    others = others[np.lexsort((shapes.ravel()[others], rank.ravel()[others]))]
    return np.concatenate([opaque, others]), len(opaque)


def _mirror_batch(
    views: Views, frames: np.ndarray, poses: np.ndarray, place: np.ndarray, shapes: np.ndarray
) -> FrameBatch:
    """The mirror images that frames show. Writes their numbers into `place`."""
    chosen, reflections, hidden = [], [], []
    for frame, look in enumerate(views.looks):
        for geom, below in look.mirrors.items():
            place[frame, geom, 3] = len(chosen)
            lift_m = 0.0 if look.geoms.radius_m[geom] == 0 else look.geoms.scale[geom, 2]
            reflections.append(reflection(poses[frame, geom], lift_m))
            chosen.append(frame)
            hidden.append(below)
    mirrored, matrices = frames[chosen], np.array(reflections)
    clip = mirrored["clip"].astype(float) @ matrices
    mirrored["clip"] = clip
    eyes = np.concatenate([mirrored["eye"][:, :3], np.ones((len(chosen), 1))], axis=1)
    mirrored["eye"][:, :3] = (matrices @ eyes[..., None])[:, :3, 0]
    looks = tuple(views.looks[frame] for frame in chosen)
    own_place = place[chosen].copy()
    own_place[..., 0], own_place[..., 2:] = np.arange(len(chosen))[:, None], -1
    drawn = _instances(looks, poses[chosen], own_place)
    shapes = shapes[chosen]
    visible = (shapes >= 0) & ~np.array(hidden) & _in_view(views, looks, views.fov_deg[chosen], clip, poses[chosen])
    order, opaque = _order(shapes, drawn, visible, clip, poses[chosen], _radius_m(looks))
    return FrameBatch(
        mirrored, drawn.ravel()[order], shapes.ravel()[order], opaque, drawn[:0, 0], shapes[:0, 0], flipped=True
    )
