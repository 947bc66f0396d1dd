"""Bodies of a compiled model as elements of a spec: frames, inertia, joints, geoms, sites, cameras and lights."""

import mujoco
import numpy as np

from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.transforms import conjugate, product, rotated

# Fields of a spec's element -> field of the model. Both hold the same numbers.
GEOM = (
    "type", "contype", "conaffinity", "condim", "priority", "friction", "solmix", "solref", "solimp", "margin", "gap",
    "surfacevel", "adhesion", "rgba", "group", "castshadow",
)  # fmt: skip
SITE = ("type", "size", "pos", "quat", "group", "rgba")
CAMERA = ("mode", "pos", "quat", "fovy", "ipd", "resolution", "output")
LIGHT = (
    "mode", "pos", "dir", "active", "type", "castshadow", "bulbradius", "intensity", "range", "attenuation", "cutoff",
    "softness", "exponent", "ambient", "diffuse", "specular",
)  # fmt: skip
SETTABLE_SLEEP = {
    mujoco.mjtSleepPolicy.mjSLEEP_NEVER.value,
    mujoco.mjtSleepPolicy.mjSLEEP_ALLOWED.value,
    mujoco.mjtSleepPolicy.mjSLEEP_INIT.value,
}
MESH_TYPES = {mujoco.mjtGeom.mjGEOM_MESH.value, mujoco.mjtGeom.mjGEOM_SDF.value}


def add_bodies(spec: mujoco.MjSpec, model: mujoco.MjModel, names: Names) -> None:
    """Add all bodies with everything that is attached to them. Assets and materials must be there already."""
    bodies = [spec.worldbody]
    for index in range(1, model.nbody):
        body = bodies[model.body_parentid[index]].add_body(name=names["body"][index])
        bodies.append(body)
        _set_body(body, model, index)
        for joint in range(model.body_jntadr[index], model.body_jntadr[index] + model.body_jntnum[index]):
            _add_joint(body, model, joint, names)
    for geom in range(model.ngeom):
        add_geom(bodies[model.geom_bodyid[geom]], model, geom, names)
    for site in range(model.nsite):
        _add_site(bodies[model.site_bodyid[site]], model, site, names)
    for camera in range(model.ncam):
        add_camera(bodies[model.cam_bodyid[camera]], model, camera, names)
    for light in range(model.nlight):
        add_light(bodies[model.light_bodyid[light]], model, light, names)


def copy_fields(element: object, model: mujoco.MjModel, prefix: str, index: int, fields: tuple[str, ...]) -> None:
    """Copy values that an element of a spec and the arrays of a model have under the same name."""
    for field in fields:
        value = getattr(model, f"{prefix}_{field}")[index]
        setattr(element, field, value.tolist() if isinstance(value, np.ndarray) else value.item())


def _set_body(body: mujoco.MjsBody, model: mujoco.MjModel, index: int) -> None:
    pos, quat = model.body_pos[index], model.body_quat[index]
    joint = model.body_jntadr[index]
    if joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
        start = model.jnt_qposadr[joint]
        pos, quat = model.qpos0[start : start + 3], model.qpos0[start + 3 : start + 7]
    body.pos, body.quat = pos, quat
    body.mocap = bool(model.body_mocapid[index] >= 0)
    body.gravcomp = float(model.body_gravcomp[index])
    if model.body_mass[index] > 0 or model.body_inertia[index].any():
        body.explicitinertial = True
        body.mass, body.inertia = float(model.body_mass[index]), model.body_inertia[index]
        body.ipos, body.iquat = model.body_ipos[index], model.body_iquat[index]
    if not model.body_simple[index] and model.body_jntnum[index]:
        body.simple = 0
    tree = model.body_treeid[index]
    if tree >= 0 and model.body_parentid[index] == 0 and model.tree_sleep_policy[tree] in SETTABLE_SLEEP:
        body.sleep = int(model.tree_sleep_policy[tree])
    body.userdata = model.body_user[index] if model.nuser_body else []


def _add_joint(body: mujoco.MjsBody, model: mujoco.MjModel, index: int, names: Names) -> None:
    dof, address = model.jnt_dofadr[index], model.jnt_qposadr[index]
    kind = int(model.jnt_type[index])
    joint = body.add_joint(
        name=names["joint"][index], type=kind, align=mujoco.mjtAlignFree.mjALIGNFREE_FALSE.value,
        stiffness=[model.jnt_stiffness[index], *model.jnt_stiffnesspoly[index]],
        damping=[model.dof_damping[dof], *model.dof_dampingpoly[dof]],
        armature=model.dof_armature[dof], frictionloss=model.dof_frictionloss[dof],
        solref_friction=model.dof_solref[dof], solimp_friction=model.dof_solimp[dof],
        solref_limit=model.jnt_solref[index], solimp_limit=model.jnt_solimp[index],
        limited=int(model.jnt_limited[index]), range=model.jnt_range[index], margin=model.jnt_margin[index],
        actfrclimited=int(model.jnt_actfrclimited[index]), actfrcrange=model.jnt_actfrcrange[index],
        actgravcomp=int(model.jnt_actgravcomp[index]), springyield=model.jnt_springyield[index],
        group=int(model.jnt_group[index]),
    )  # fmt: skip
    if kind != mujoco.mjtJoint.mjJNT_FREE:
        joint.pos = model.jnt_pos[index]
    if kind in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
        joint.axis, joint.ref = model.jnt_axis[index], float(model.qpos0[address])
        joint.springref = float(model.qpos_spring[address])
    joint.userdata = model.jnt_user[index] if model.nuser_jnt else []


def add_geom(body: mujoco.MjsBody, model: mujoco.MjModel, index: int, names: Names) -> None:
    geom = body.add_geom(name=names["geom"][index])
    copy_fields(geom, model, "geom", index, GEOM)
    pos, quat, data = model.geom_pos[index], model.geom_quat[index], int(model.geom_dataid[index])
    if model.geom_type[index] in MESH_TYPES:
        geom.meshname = names["mesh"][data]
        pos, quat = asset_frame(model, data, pos, quat)
    elif model.geom_type[index] == mujoco.mjtGeom.mjGEOM_HFIELD:
        geom.hfieldname = names["hfield"][data]
    else:
        geom.size = model.geom_size[index]
    geom.pos, geom.quat = pos, quat
    geom.material = names["material"][model.geom_matid[index]] if model.geom_matid[index] >= 0 else ""
    fluid = model.geom_fluid[index]
    if fluid[0]:
        geom.fluid_ellipsoid, geom.fluid_coefs = float(fluid[0]), fluid[1:6]
    geom.userdata = model.geom_user[index] if model.nuser_geom else []


def asset_frame(model: mujoco.MjModel, mesh: int, pos: np.ndarray, quat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pose of the mesh's file in the body. The compiler has moved the mesh to its centre and principal axes."""
    quat = product(quat, conjugate(model.mesh_quat[mesh]))
    return pos - rotated(model.mesh_pos[mesh], quat), quat


def _add_site(body: mujoco.MjsBody, model: mujoco.MjModel, index: int, names: Names) -> None:
    site = body.add_site(name=names["site"][index])
    copy_fields(site, model, "site", index, SITE)
    site.material = names["material"][model.site_matid[index]] if model.site_matid[index] >= 0 else ""
    mesh = int(model.site_dataid[index])
    if model.site_type[index] in MESH_TYPES:
        site.meshname = names["mesh"][mesh]
        site.pos, site.quat = asset_frame(model, mesh, model.site_pos[index], model.site_quat[index])
    site.userdata = model.site_user[index] if model.nuser_site else []


def add_camera(body: mujoco.MjsBody, model: mujoco.MjModel, index: int, names: Names) -> None:
    camera = body.add_camera(name=names["camera"][index], proj=int(model.cam_projection[index]))
    copy_fields(camera, model, "cam", index, CAMERA)
    target = model.cam_targetbodyid[index]
    camera.targetbody = names["body"][target] if target >= 0 else ""
    if model.cam_sensorsize[index].any():
        camera.sensor_size, intrinsic = model.cam_sensorsize[index], model.cam_intrinsic[index]
        camera.focal_length, camera.principal_length = intrinsic[:2], intrinsic[2:]


def add_light(body: mujoco.MjsBody, model: mujoco.MjModel, index: int, names: Names) -> None:
    light = body.add_light(name=names["light"][index])
    copy_fields(light, model, "light", index, LIGHT)
    target = model.light_targetbodyid[index]
    light.targetbody = names["body"][target] if target >= 0 else ""
    light.texture = names["texture"][model.light_texid[index]] if model.light_texid[index] >= 0 else ""
