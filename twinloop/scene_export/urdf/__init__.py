"""Scene -> URDF: a file for each robot, fixture and thing, and their poses in `scene.json`."""

from xml.etree import ElementTree

import mujoco
import numpy as np

from twinloop.scene_export.drives import drives_of, mimics_of
from twinloop.scene_export.files import INDEX, SceneFiles, left_out
from twinloop.scene_export.links import RigidLink, links_of, virtual_link_note
from twinloop.scene_export.scene import CompleteScene
from twinloop.scene_export.soft import soft_things
from twinloop.scene_export.spec.assets import file_name
from twinloop.scene_export.spec.names import Names
from twinloop.scene_export.transforms import quaternion
from twinloop.scene_export.urdf.robot import TreeWriter, base_of, plain, soft_tree
from twinloop.scene_export.urdf.shapes import Shapes

ROOM = "room"


def urdf_files(scene: CompleteScene) -> SceneFiles:
    model, data, names = scene.model, scene.data, Names(scene.model)
    drives, _ = drives_of(model, data)
    mimics, mimic_notes = mimics_of(model)
    soft, soft_notes = soft_things(model, data)
    shapes = Shapes(model)
    writer = TreeWriter(model, shapes, drives, {mimic.follower: mimic for mimic in mimics}, names["joint"])
    links = links_of(model, data, left_out=frozenset(body for thing in soft for body in thing.bodies))
    files: dict[str, bytes] = {}
    taken: set[str] = set()
    entities = []

    def write(name: str, tree: ElementTree.Element, entity: dict[str, object]) -> None:
        file = file_name(name, "urdf", taken)
        ElementTree.indent(tree)
        files[file] = ElementTree.tostring(tree, encoding="utf-8", xml_declaration=True)
        entities.append({"name": name, "file": file, **entity})

    if (model.geom_bodyid == 0).any():
        write(ROOM, _room(writer), {"fixed": True, **_pose(np.eye(4)), "mass_kg": 0.0, "joints": {}})
    for root in sorted({link.root for link in links}):
        tree = [link for link in links if link.root == root]
        write(names["body"][root], writer.tree(names["body"][root], tree), _entity(model, data, tree))
    for thing in soft:
        entity = {"fixed": thing.pinned or not thing.bodies, **_pose(thing.to_world), "mass_kg": thing.mass_kg}
        write(thing.name, soft_tree(thing, shapes), {**entity, "joints": {}, "friction": thing.friction})
    notes = [*mimic_notes, *soft_notes, *_notes(model, writer)]
    return SceneFiles(INDEX, {**files, **shapes.files}, tuple(notes), {"entities": entities})


def _room(writer: TreeWriter) -> ElementTree.Element:
    robot = ElementTree.Element("robot", name=ROOM)
    link = ElementTree.SubElement(robot, "link", name=ROOM)
    for geom in map(int, np.flatnonzero(writer.model.geom_bodyid == 0)):
        writer.add_geom(link, geom, np.eye(4))
    return robot


def _pose(to_world: np.ndarray) -> dict[str, object]:
    return {"position_m": to_world[:3, 3].tolist(), "quaternion_wxyz": quaternion(to_world[:3, :3]).tolist()}


def _entity(model: mujoco.MjModel, data: mujoco.MjData, links: list[RigidLink]) -> dict[str, object]:
    """The entry of one URDF file in `scene.json`. `links`: the root first."""
    root = links[0]
    bodies = [link.body for link in links if link.body >= 0]
    touching = [
        geom for geom in range(model.ngeom)
        if model.geom_bodyid[geom] in bodies and (model.geom_contype[geom] or model.geom_conaffinity[geom])
    ]  # fmt: skip
    moving = [link for link in links if link.kind in ("hinge", "slide")]
    return {
        "fixed": root.kind != "free",
        **_pose(np.eye(4) if base_of(links) else root.to_world),
        "mass_kg": float(model.body_mass[bodies].sum()),
        "joints": {plain(link.joint_name): float(data.qpos[model.jnt_qposadr[link.joint]]) for link in moving},
        "friction": {plain(model.geom(geom).name): float(model.geom_friction[geom, 0]) for geom in touching},
    }


def _notes(model: mujoco.MjModel, writer: TreeWriter) -> list[str]:
    notes = [
        "contacts: URDF has no friction and no contact filters; scene.json has the sliding friction of each geom",
        "cameras and lights: URDF has none; scene.json has the cameras",
        "actuators: URDF has no servo gains; effort limits are those of the actuators, 1000 where they have none",
    ]
    if writer.invented:
        notes.append("velocity limits: the model has none; 100 rad/s or m/s is written for every joint")
    notes += virtual_link_note(writer.virtual)
    if writer.ball_joints:
        notes.append(f"ball joints: written as three hinges about x, y and z: {', '.join(writer.ball_joints)}")
    if writer.shapes.planes:
        planes = ", ".join(sorted(set(writer.shapes.planes)))
        notes.append(f"planes: written as boxes 10 mm thick: {planes}")
    loops = [
        model.equality(index).name
        for index in range(model.neq)
        if int(model.eq_type[index]) in (mujoco.mjtEq.mjEQ_CONNECT.value, mujoco.mjtEq.mjEQ_WELD.value)
    ]
    if loops:
        notes.append(f"closed loops: URDF is a tree; these constraints are left out: {', '.join(loops)}")
    counts = {
        "armatures": int((model.dof_armature > 0).sum()), "sites": model.nsite, "sensors": model.nsensor,
        "tendons": model.ntendon, "textures": model.ntex,
    }  # fmt: skip
    return [*notes, *left_out(counts)]
