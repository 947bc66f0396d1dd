"""Touch: a grid of taxels on each finger's pad, and the shear force on the pad.

The engine lists the hardest contacts of each finger with the object. The normal force of a contact is distributed to
the taxels around it by distance, as through a rubber skin. The taxels of a finger always add up to its normal force.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.rotation import cross

ALONG, ACROSS = 4, 3  # taxels along and across a finger: 6 mm each on the Franka Hand's pads
TAXELS = ALONG * ACROSS
FINGERS = ("left", "right")
SKIN = 0.5  # spread of a contact, in taxels (standard deviation)
MOST_CONTACTS, MOST_SOFT_CONTACTS = 8, 48
NUMBERS = 12  # force, position, normal, tangent

PARTS = tuple(
    f"{finger}.{part}"
    for finger in FINGERS
    for part in (*(f"taxel{row}{column}" for row in range(ALONG) for column in range(ACROSS)), "across", "along")
)


@dataclass(frozen=True)
class TouchIndex:
    """Indices of the touch sensors, and the geometry of the taxels.

    Attributes:
        contacts: where each finger's contacts are in `sensordata`.
        taxels_m: (2, taxels, 2) positions of each finger's taxels along the tool's x and z.
        spread_m: (2,) standard deviation of a contact's spread along x and z.
        outwards: (2,) sign of the tool's y direction away from the other finger.
    """

    contacts: tuple[slice, slice]
    taxels_m: np.ndarray
    spread_m: np.ndarray
    outwards: np.ndarray

    def read(self, sensordata: np.ndarray, tool_position: np.ndarray, tool_axes: np.ndarray) -> np.ndarray:
        """(n, parts) newtons: each finger's taxels, then its shear across and along the finger."""
        forces = []
        for side, taxels, part in zip(self.outwards, self.taxels_m, self.contacts, strict=True):
            listed = sensordata[:, part].reshape(len(sensordata), -1, 4, 3)
            force, place, normal, tangent = (listed[:, :, number] for number in range(4))
            other = cross(normal, tangent)
            in_world = force[..., :1] * normal + force[..., 1:2] * tangent + force[..., 2:] * other
            in_tool = (in_world[..., :, None] * tool_axes[:, None]).sum(axis=2)
            at = ((place - tool_position[:, None])[..., :, None] * tool_axes[:, None]).sum(axis=2)[..., ::2]
            away = np.square((at[:, :, None] - taxels) / self.spread_m).sum(axis=3)
            # Relative to the nearest taxel, because far from every taxel all weights would be zero.
            weight = np.exp(-0.5 * (away - away.min(axis=2, keepdims=True)))
            share = weight / weight.sum(axis=2, keepdims=True)
            # The listed forces act on the object; the force on the finger is opposite, outwards.
            normal_n = -side * in_tool[..., 1]
            forces += [_pressed((normal_n[..., None] * share).sum(axis=1)), -in_tool[..., ::2].sum(axis=1)]
        return np.concatenate(forces, axis=1)


def _pressed(taxels: np.ndarray) -> np.ndarray:
    """Set negative values, which occur at edges of soft objects, to 0 and scale the others to the same total."""
    felt = np.maximum(taxels, 0)
    total = np.maximum(taxels.sum(axis=1, keepdims=True), 0)
    return felt * (total / np.maximum(felt.sum(axis=1, keepdims=True), 1e-12))


def add_touch(spec: mujoco.MjSpec, finger_bodies: tuple[str, str], object_body: str, *, prefix: str = "") -> None:
    """Add one sensor per finger that lists its contacts, hardest first. An empty `object_body` means all contacts.

    Args:
        prefix: of the sensors of one of several arms.
    """
    fields = mujoco.mjtConDataField
    data = sum(
        1 << field.value
        for field in (fields.mjCONDATA_FORCE, fields.mjCONDATA_POS, fields.mjCONDATA_NORMAL, fields.mjCONDATA_TANGENT)
    )
    for name, finger in zip(FINGERS, finger_bodies, strict=True):
        sensor = spec.add_sensor(name=f"{prefix}{name}_touch", type=mujoco.mjtSensor.mjSENS_CONTACT)
        sensor.objtype, sensor.objname = mujoco.mjtObj.mjOBJ_XBODY, finger
        if object_body:
            sensor.reftype, sensor.refname = mujoco.mjtObj.mjOBJ_XBODY, object_body
        sensor.intprm[:3] = [data, 2, MOST_CONTACTS if object_body else MOST_SOFT_CONTACTS]


def touch_index(
    model: mujoco.MjModel,
    finger_bodies: tuple[str, str],
    tool_site: int,
    sensors: dict[str, slice],
    *,
    prefix: str = "",
) -> TouchIndex:
    """Indices and taxels. The grid of a finger covers its geom with contacts that is nearest to the tool frame."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    origin, axes = data.site_xpos[tool_site], data.site_xmat[tool_site].reshape(3, 3)
    grids, sizes, signs = [], [], []
    for finger in finger_bodies:
        geom = _pad(model, data, model.body(finger).id, origin)
        centre, half = model.geom_aabb[geom].reshape(2, 3)
        to_world = data.geom_xmat[geom].reshape(3, 3)
        middle = (data.geom_xpos[geom] + to_world @ centre - origin) @ axes
        reach = np.abs(axes.T @ to_world) @ half
        x = middle[0] + reach[0] * _cells(ACROSS)
        z = middle[2] + reach[2] * _cells(ALONG)
        grids.append(np.stack(np.meshgrid(z, x, indexing="ij")[::-1], axis=-1).reshape(TAXELS, 2))
        signs.append(np.sign(middle[1]))
        sizes.append([2 * reach[0] / ACROSS, 2 * reach[2] / ALONG])
    return TouchIndex(
        contacts=(sensors[f"{prefix}left_touch"], sensors[f"{prefix}right_touch"]),
        taxels_m=np.array(grids),
        spread_m=SKIN * np.mean(sizes, axis=0),
        outwards=np.array(signs),
    )


def _cells(count: int) -> np.ndarray:
    """Centres of `count` equal cells of (-1, 1)."""
    return (2 * np.arange(count) + 1) / count - 1


def pads_of(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Geoms of a body that have contacts."""
    touches = (model.geom_contype > 0) | (model.geom_conaffinity > 0)
    return np.flatnonzero((model.geom_bodyid == body) & touches)


def _pad(model: mujoco.MjModel, data: mujoco.MjData, body: int, point: np.ndarray) -> int:
    geoms = pads_of(model, body)
    if not len(geoms):
        raise ModelError(f"finger body {model.body(body).name!r} has no geom that touches things: it cannot feel")
    return int(geoms[np.linalg.norm(data.geom_xpos[geoms] - point, axis=1).argmin()])
