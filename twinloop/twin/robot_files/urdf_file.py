"""A user's URDF file: checked, its meshes resolved, and given to MuJoCo as text.

MuJoCo reads links, joints, limits, inertias and shapes of a URDF. This module does what it does not: `package://`
paths, mesh formats that it cannot read, and messages that name the element.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from twinloop.errors import ModelError
from twinloop.twin.robot_files.mesh_checks import CONVERTED, READABLE, check_mesh, is_closed
from twinloop.twin.robot_files.mjcf_file import MOST_ASSET_BYTES, WITHOUT_MESHES, parse
from twinloop.twin.robot_files.urdf_spec import guess_inertia, mend_inertias, spec_of

PACKAGE = "package://"
FILE = "file://"
INSTALLED = re.compile(r"^(?:file://)?/.*/share/([^/]+/.+)$")
MOST_NAMED = 5
MOVING = ("revolute", "continuous", "prismatic")


class UnknownPackageError(ModelError):
    """A `package://` path names a package whose folder is not known."""


@dataclass(frozen=True)
class UrdfModel:
    """A checked URDF.

    Attributes:
        text: the URDF with absolute mesh paths, for the engine.
        assets: converted meshes by the name that `text` gives them.
        files: the URDF and its meshes.
        effort, velocity: limits by joint; joints without a limit are left out.
        notes: what was left out or changed, for `inspect-robot`.
    """

    text: str
    files: tuple[Path, ...]
    effort: Mapping[str, float]
    velocity: Mapping[str, float]
    notes: tuple[str, ...] = field(default=())
    assets: Mapping[str, bytes] = field(default_factory=dict)

    def spec(self) -> mujoco.MjSpec:
        spec = spec_of(self.text, self.assets)
        for coupling in spec.equalities:  # mimic joints are rigid linkages
            coupling.solref, coupling.solimp = (0.01, 1), (0.98, 0.999, 0.001, 0.5, 2)
        return spec


def read_urdf(path: Path, *, root: Path, packages: Mapping[str, Path], skip_missing_meshes: bool = False) -> UrdfModel:
    """Check a URDF and resolve its meshes.

    Args:
        root: folder that relative mesh paths must stay in.
        packages: folders of ROS packages by name.
        skip_missing_meshes: leave out shapes whose mesh file or package is not there.

    Raises:
        ModelError: names the file, the element and the remedy.
    """
    tree = parse(path, root_tags=("robot",))
    _refuse_xacro(path, tree)
    notes: list[str] = []
    assets: dict[str, bytes] = {}
    _drop_empty_shapes(tree, notes)
    if skip_missing_meshes:
        _drop_missing_meshes(tree, _Folders(path, root.resolve(), packages), notes)
    files = _resolve_meshes(path, tree, _Folders(path, root.resolve(), packages), notes, assets)
    size = sum(file.stat().st_size for file in set(files))
    if size > MOST_ASSET_BYTES:
        raise ModelError(f"{path}: its meshes have {size:,} bytes; {MOST_ASSET_BYTES:,} at most are read")
    if assets:
        # MuJoCo attaches a model with paths or one with assets, not one with both.
        _embed_meshes(tree, assets)
    _check_mimics(path, tree)
    mend_inertias(tree, notes)
    joints = {joint.get("name", ""): joint for joint in tree.findall("joint") if joint.get("type") in MOVING}
    _set_compiler(tree)
    return UrdfModel(
        text=ElementTree.tostring(tree, encoding="unicode"),
        files=(path, *files),
        effort=_limits(joints, "effort"),
        velocity=_limits(joints, "velocity"),
        notes=tuple(dict.fromkeys(notes)),
        assets=assets,
    )


def _refuse_xacro(path: Path, tree: ElementTree.Element) -> None:
    """Refuse macros. Properties that nothing uses are left over from an expansion and are dropped."""
    if not any("${" in " ".join(element.attrib.values()) for element in tree.iter()):
        for element in [child for child in tree if child.tag.endswith("property") and "xacro" in child.tag]:
            tree.remove(element)
    macros = any("xacro" in element.tag or "${" in " ".join(element.attrib.values()) for element in tree.iter())
    if macros:
        raise ModelError(
            f"{path}: has xacro macros. Expand them first: xacro {path.name} > {path.stem.split('.')[0]}.urdf "
            "(the command comes with ROS, or with `pip install xacro`)"
        )


@dataclass(frozen=True)
class _Folders:
    path: Path
    root: Path
    packages: Mapping[str, Path]

    def resolve(self, name: str, element: str) -> Path:
        """The file that a mesh path means. It must lie in its package or in the root."""
        installed = INSTALLED.search(name)
        if installed and not Path(name.removeprefix(FILE)).is_file():
            name = f"{PACKAGE}{installed[1]}"  # a path in the workspace of another machine
        if name.startswith(PACKAGE):
            package, _, inside = name.removeprefix(PACKAGE).partition("/")
            folder = self._package(package, inside, element)
            target = folder / inside
        else:
            folder = self.root
            target = self._beside_or_above(name.removeprefix(FILE))
        try:
            target = target.resolve()
        except (ValueError, RuntimeError, OSError) as error:
            raise ModelError(f"{self.path}: {element}: {name!r:.80} is no path ({error})") from None
        if not target.is_relative_to(folder.resolve()):
            raise ModelError(
                f"{self.path}: {element}: {name!r:.120} is outside {folder}. Name the folder that holds the model and "
                "its meshes: `root` in the config, --root DIR in inspect-robot"
            )
        return target

    def _beside_or_above(self, name: str) -> Path:
        """A path relative to the file's folder, or to a folder above it that has this file."""
        beside = self.path.parent / name
        if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name or beside.is_file():
            return beside
        above = [folder / name for folder in self._above()[1:]]
        return next((mesh for mesh in above if mesh.is_file()), beside)

    def _above(self) -> list[Path]:
        """The file's folder, and those above it in which its package may begin."""
        return [self.path.resolve().parent, *self.path.resolve().parent.parents][:4]

    def _package(self, name: str, inside: str, element: str) -> Path:
        """Folder of a package: a given one, a folder beside the file, or the package that the file is part of.

        Args:
            inside: the path of the mesh in the package. A folder above the file that has this mesh is the package
                under another name.
        """
        if name in self.packages:
            return self.packages[name]
        above = self._above()
        if (above[0] / name).is_dir():
            return above[0] / name
        for folder in above:
            if folder.name == name:
                return folder
        for folder in above:
            mesh = (folder / inside).resolve() if "\0" not in inside else folder
            if mesh.is_relative_to(folder) and mesh.is_file():
                return folder
        given = f" (given: {', '.join(sorted(self.packages))})" if self.packages else ""
        raise UnknownPackageError(
            f"{self.path}: {element}: package {name!r:.60} is not known{given}. Name its folder: "
            f"`packages: {{{name}: DIR}}` in the config, --package {name}=DIR in inspect-robot. {WITHOUT_MESHES}"
        )


def _resolve_meshes(
    path: Path, tree: ElementTree.Element, folders: _Folders, notes: list[str], assets: dict[str, bytes]
) -> list[Path]:
    """Check all meshes, and write absolute paths, or names of converted meshes in `assets`, into the tree."""
    files, missing = [], []
    for link in tree.findall("link"):
        for kind in ("visual", "collision"):
            for shape in link.findall(kind):
                mesh = shape.find("geometry/mesh")
                if mesh is None:
                    continue
                element = f"<{kind}> of link {link.get('name', '')!r}"
                target = folders.resolve(mesh.get("filename", ""), element)
                if kind == "visual" and target.suffix.lower() not in READABLE:
                    # What is seen may be left out; what touches may not.
                    link.remove(shape)
                    notes.append(f"visual meshes in {target.suffix} are not shown; the collision shapes are")
                elif not target.is_file():
                    missing.append(f"{element} names {mesh.get('filename', '')!r:.120}")
                else:
                    scale = _scale(mesh, path, element)
                    try:
                        size = check_mesh(target, scale, element)
                    except ModelError as error:
                        if kind == "collision" or target.suffix.lower() not in CONVERTED:
                            raise
                        link.remove(shape)
                        notes.append(f"a visual mesh is left out: {error}")
                        continue
                    if link.find("inertial") is None and is_closed(target) is False:
                        guess_inertia(link, shape, size.extents * np.abs(scale))
                        notes.append(
                            f"{target.name} is not closed and link {link.get('name', '')!r} has no mass; it is a guess"
                        )
                    name = str(target)
                    if size.converted is not None:
                        name = _asset_name(target, ".stl")
                        assets[name] = size.converted
                    mesh.set("filename", name)
                    files.append(target)
    if missing:
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise ModelError(
            f"{path}: {len(missing)} mesh files are missing: {'; '.join(missing[:MOST_NAMED])}{more}. Put them there, "
            f"or name the folder of the package (`packages`, --package NAME=DIR). {WITHOUT_MESHES}"
        )
    return files


def _drop_missing_meshes(tree: ElementTree.Element, folders: _Folders, notes: list[str]) -> None:
    """Leave out shapes whose mesh or package is not there."""
    missing = []
    for link in tree.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            mesh = shape.find("geometry/mesh")
            if mesh is None:
                continue
            name, element = mesh.get("filename", ""), f"<{shape.tag}> of link {link.get('name', '')!r}"
            try:
                there = folders.resolve(name, element).is_file()
            except UnknownPackageError:
                there = False
            if not there:
                link.remove(shape)
                missing.append(f"{name.rpartition('/')[2]!r:.60} ({element})")
    if missing:
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        notes.append(f"{len(missing)} meshes are missing and left out: {', '.join(missing[:MOST_NAMED])}{more}")


def _drop_empty_shapes(tree: ElementTree.Element, notes: list[str]) -> None:
    """Leave out boxes, cylinders and spheres of size 0, which some files have in place of no shape."""
    for link in tree.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            primitive = shape.find("geometry/*")
            sizes = [] if primitive is None else [primitive.get(key, "1") for key in ("size", "radius", "length")]
            try:
                empty = any(float(number) == 0 for size in sizes for number in size.split())
            except ValueError:
                continue  # the engine refuses it
            if empty:
                link.remove(shape)
                notes.append(f"a shape of size 0 of link {link.get('name', '')!r} is left out")


def _asset_name(target: Path, suffix: str) -> str:
    return f"{target.stem}-{hashlib.sha256(str(target).encode()).hexdigest()[:8]}{suffix}"


def _embed_meshes(tree: ElementTree.Element, assets: dict[str, bytes]) -> None:
    """Read all meshes that are still paths into `assets`."""
    for mesh in tree.iter("mesh"):
        filename = mesh.get("filename", "")
        if filename and filename not in assets:
            name = _asset_name(Path(filename), Path(filename).suffix)
            assets[name] = Path(filename).read_bytes()
            mesh.set("filename", name)


def _scale(mesh: ElementTree.Element, path: Path, element: str) -> np.ndarray:
    try:
        scale = np.array(mesh.get("scale", "1 1 1").split(), float)
    except ValueError:
        scale = np.zeros(0)
    if scale.shape != (3,) or not np.isfinite(scale).all():
        raise ModelError(f"{path}: {element}: scale is {mesh.get('scale')!r:.60}; three numbers were expected")
    return scale


def _check_mimics(path: Path, tree: ElementTree.Element) -> None:
    names = {joint.get("name", "") for joint in tree.findall("joint") if joint.get("type") in MOVING}
    for joint in tree.findall("joint"):
        mimic = joint.find("mimic")
        if mimic is not None and mimic.get("joint", "") not in names:
            raise ModelError(
                f"{path}: joint {joint.get('name', '')!r} mimics {mimic.get('joint', '')!r:.60}, which is no moving "
                "joint of the model"
            )


def _limits(joints: Mapping[str, ElementTree.Element], attribute: str) -> dict[str, float]:
    """Positive limits by joint. Zero means "not given" in many files."""
    limits = {}
    for name, joint in joints.items():
        limit = joint.find("limit")
        try:
            value = float(limit.get(attribute, 0)) if limit is not None else 0.0
        except ValueError:
            continue
        if np.isfinite(value) and value > 0:
            limits[name] = value
    return limits


def _set_compiler(tree: ElementTree.Element) -> None:
    """Keep links without joints (they are frames), and accept inertias that are slightly wrong."""
    for extension in tree.findall("mujoco"):
        tree.remove(extension)
    extension = ElementTree.SubElement(tree, "mujoco")
    ElementTree.SubElement(
        extension, "compiler", strippath="false", fusestatic="false", balanceinertia="true", discardvisual="false",
        boundmass="1e-4", boundinertia="1e-7",
    )  # fmt: skip
