"""Safety checks of a user's MJCF file before MuJoCo reads it.

Document types (entities can expand without end), plugins and files outside the model's folder are refused. So are
small inputs that allocate much memory: the sizes of repeats, grids, textures and buffers are computed first.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from twinloop.durable import read_bounded
from twinloop.errors import ModelError, StorageError
from twinloop.twin.robot_files.mesh_checks import refuse_lfs_pointer
from twinloop.twin.robot_files.missing_assets import OPTIONAL

MOST_BYTES = 16 * 1024 * 1024
MOST_ASSET_BYTES = 512 * 1024 * 1024
MOST_ELEMENTS = 50_000
MOST_CELLS = 1 << 24  # of a height field, a texture or an array
DEEPEST = 8
MOST_NAMED = 5
FOLDER_ATTRIBUTES = ("assetdir", "meshdir", "texturedir")
REPEATS = ("replicate", "composite", "flexcomp")
# The memory for these elements grows with the product of the attributes.
GRIDS = {
    "hfield": ("nrow", "ncol"),
    "texture": ("width", "height"),
    "numeric": ("size",),
    "user": ("dim",),
}
PREFIXED = re.compile(rb"<(/?)(\w+):(\w+)")
WITHOUT_MESHES = "To leave their shapes out: `skip_missing_meshes: true`, --skip-missing-meshes"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50, "E": 1 << 60}


@dataclass(frozen=True)
class MjcfFiles:
    """Files of a checked model.

    Attributes:
        files: the model and all files that it names and that are there.
        missing: names of mesh and texture files that are not there, as the model has them.
    """

    files: list[Path]
    missing: tuple[str, ...]


def checked_files(path: Path, *, root: Path | None = None) -> list[Path]:
    """Check the model and return its file and all files that it names.

    Args:
        root: folder that all files must lie in; default: the model's folder.
    """
    return check_files(path, root=root, skip_missing=False).files


def check_files(path: Path, *, root: Path | None, skip_missing: bool) -> MjcfFiles:
    """Check the model.

    Args:
        root: folder that all files must lie in; default: the model's folder.
        skip_missing: mesh and texture files need not be there.
    """
    root = (root or path.parent).resolve()
    allowed = _Allowed(path.parent.resolve(), root)
    trees: dict[Path, ElementTree.Element] = {}
    _collect(path, allowed, trees, depth=0)
    total = sum(_expanded(tree) for tree in trees.values())
    if total > MOST_ELEMENTS:
        raise ModelError(f"{path}: {total:,} elements, repeats counted; a model may have {MOST_ELEMENTS:,} at most")
    folders = _folders(trees)
    files, missing = list(trees), {}
    for file, tree in trees.items():
        for element in tree.iter():
            _refuse_large(file, element)
            for name in _named_files(element) if element.tag not in ("include", "model") else ():
                target = allowed.file(file, name, element.tag, folders)
                if target is not None:
                    files.append(target)
                elif element.tag not in OPTIONAL:
                    raise allowed.absent(file, [f"<{element.tag}> names {name!r:.80}"])
                else:
                    missing[name] = f"<{element.tag}> names {name!r:.80}"
    if missing and not skip_missing:
        raise allowed.absent(path, list(missing.values()), remedy=f" {WITHOUT_MESHES}")
    size = sum(file.stat().st_size for file in set(files))
    if size > MOST_ASSET_BYTES:
        raise ModelError(
            f"{path}: it and the files it names have {size:,} bytes; {MOST_ASSET_BYTES:,} at most are read"
        )
    return MjcfFiles(files, tuple(missing))


def _collect(path: Path, allowed: "_Allowed", trees: dict[Path, ElementTree.Element], *, depth: int) -> None:
    """Add the parsed trees of the model and of all files that it includes or attaches to `trees`."""
    if depth > DEEPEST:
        raise ModelError(f"{path}: includes files more than {DEEPEST} deep")
    if path in trees:
        return
    tree = trees[path] = parse(path, root_tags=("mujoco", "mujocoinclude"))
    for element in tree.iter():
        if element.tag in ("plugin", "extension"):
            raise ModelError(f"{path}: <{element.tag}> loads code into the engine and is not allowed")
        if element.tag in ("include", "model"):
            for name in _named_files(element):
                target = allowed.file(path, name, element.tag, {})
                if target is None:
                    raise allowed.absent(path, [f"<{element.tag}> names {name!r:.80}"])
                _collect(target, allowed, trees, depth=depth + 1)


def refuse_part(path: Path) -> None:
    """Refuse a file that other files include, such as the bodies of a robot without their defaults and assets."""
    tree = parse(path, root_tags=("mujoco", "mujocoinclude"))
    if tree.tag == "mujoco" and (tree.find("worldbody") is not None or tree.find("include") is not None):
        return
    whole = sorted(other.name for other in path.parent.glob("*.xml") if other != path and _includes(other, path.name))
    where = f": {', '.join(whole[:MOST_NAMED])}" if whole else ""
    raise ModelError(
        f"{path}: is a part of a model (no <worldbody>). Inspect a file that includes it{where}"
        + ("" if whole else ", or write one: <mujoco><worldbody><include .../></worldbody></mujoco>")
    )


def _includes(path: Path, name: str) -> bool:
    try:
        tree = parse(path, root_tags=("mujoco", "mujocoinclude"))
    except ModelError:
        return False
    return any(Path(include.get("file", "")).name == name for include in tree.iter("include"))


def _named_files(element: ElementTree.Element) -> Iterator[str]:
    return (name for attribute, name in element.attrib.items() if attribute.startswith("file"))


def _folders(trees: dict[Path, ElementTree.Element]) -> dict[str, set[str]]:
    """Folders of assets, by attribute. A compiler element in any file applies to the whole model."""
    folders: dict[str, set[str]] = {name: {""} for name in FOLDER_ATTRIBUTES}
    for tree in trees.values():
        for compiler in tree.iter("compiler"):
            for name in FOLDER_ATTRIBUTES:
                folders[name] |= {compiler.attrib[name]} if name in compiler.attrib else set()
    return folders


@dataclass(frozen=True)
class _Allowed:
    """Where the files of a model may be.

    Attributes:
        folder: that of the model, from which the engine resolves paths.
        root: folder that all files must lie in.
    """

    folder: Path
    root: Path

    def file(self, file: Path, name: str, tag: str, folders: dict[str, set[str]]) -> Path | None:
        """The file with this name; None if it is not there.

        Every place where the engine may look for it must be inside the root.
        """
        kind = {"mesh": "meshdir", "texture": "texturedir"}.get(tag, "assetdir")
        places = folders.get(kind, {""}) | folders.get("assetdir", {""})
        try:
            targets = [
                (base / place / name).resolve() for place in sorted(places) for base in (file.parent, self.folder)
            ]
        except (ValueError, RuntimeError, OSError) as error:  # a zero byte, links in a circle, a name too long
            raise ModelError(f"{file}: <{tag}> names {name!r:.80}, which is no path ({error})") from None
        if not all(target.is_relative_to(self.root) for target in targets):
            raise ModelError(
                f"{file}: <{tag}> names {name!r:.120}, which is outside its folder {self.root}. Name the folder that "
                "holds the model and its files: `root` in the config, --root DIR in inspect-robot"
            )
        for target in targets:
            if target.is_file():
                refuse_lfs_pointer(target, f"{target}: <{tag}> of {file.name}")
                return target
        return None

    def absent(self, file: Path, missing: list[str], *, remedy: str = "") -> ModelError:
        """The error for files that are not there."""
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        what, where = ("file", "Put it there.") if len(missing) == 1 else ("files", "Put them there.")
        return ModelError(
            f"{file}: {', '.join(missing[:MOST_NAMED])}{more}, but there is no such {what} in {self.root}. "
            f"{where}{remedy}"
        )


def _expanded(element: ElementTree.Element) -> int:
    """Number of elements after repeats are expanded."""
    inside = 1 + sum(_expanded(child) for child in element)
    return inside * max(1, _product(element, ("count",))) if element.tag in REPEATS else inside


def _refuse_large(file: Path, element: ElementTree.Element) -> None:
    tag = element.tag
    cells = _product(element, GRIDS.get(tag, ()))
    if tag == "size":
        cells = max((_product(element, (name,)) for name in element.attrib), default=0) // UNITS["K"]
    if tag == "mesh" and "builtin" in element.attrib and element.attrib["builtin"] == "sphere":
        cells = 4 ** min(_product(element, ("params",)), 99)
    cells = max(cells, _product(element, ("nsample",)))
    if cells > MOST_CELLS:
        raise ModelError(f"{file}: <{tag}> asks for {cells:,} cells; {MOST_CELLS:,} at most are made")


def _product(element: ElementTree.Element, names: tuple[str, ...]) -> int:
    """Product of all numbers in these attributes. Words that are no numbers are skipped; the engine refuses them."""
    named_files = []
    for word in " ".join(element.attrib.get(name, "") for name in names).split():
        unit = UNITS.get(word[-1].upper(), 1)
        try:
            number = float(word[:-1] if unit > 1 else word) * unit
        except ValueError:
            continue
        named_files.append(int(number) if math.isfinite(number) else 1 << 62)
    return math.prod(abs(number) for number in named_files) if named_files else 0


class _Strict(ElementTree.TreeBuilder):
    """Refuses document types, and too many or too deeply nested elements, while it parses."""

    def __init__(self, path: Path):
        super().__init__()
        self._path, self._count, self._depth = path, 0, 0

    def doctype(self, *_: object) -> None:
        raise ModelError(f"{self._path}: a document type or entity is not allowed in a model file")

    def start(self, tag, attrs, /):
        self._count, self._depth = self._count + 1, self._depth + 1
        if self._count > MOST_ELEMENTS:
            raise ModelError(f"{self._path}: more than {MOST_ELEMENTS:,} elements; a model may have that many")
        if self._depth > 500:
            raise ModelError(f"{self._path}: elements are nested more than 500 deep")
        return super().start(tag, attrs)

    def end(self, tag, /):
        self._depth -= 1
        return super().end(tag)


def _parsed(text: bytes, path: Path, *, with_prefixes: bool) -> ElementTree.Element:
    """Parse a text. with_prefixes: accept prefixes without a namespace, as `<sensor:camera>` in old URDF files."""
    parser = ElementTree.XMLParser(target=_Strict(path), encoding="utf-8")
    try:
        parser.feed(text)
        return parser.close()
    except ElementTree.ParseError as error:
        if not with_prefixes or error.code != expat.errors.codes[expat.errors.XML_ERROR_UNBOUND_PREFIX]:
            raise
    return _parsed(PREFIXED.sub(rb"<\1\2_\3", text), path, with_prefixes=False)


def parse(path: Path, *, root_tags: tuple[str, ...]) -> ElementTree.Element:
    """Parse an XML file without document types and of bounded size.

    Args:
        root_tags: valid names of the root element.
    """
    if "\0" in str(path):
        raise ModelError(f"{str(path)!r}: is no path; it has a zero byte in it")
    try:
        text = read_bounded(path, MOST_BYTES, error=ModelError)
        text.decode()
        # Always read as UTF-8, as the engine does, so that both readers see the same file.
        tree = _parsed(text, path, with_prefixes="robot" in root_tags)
    except StorageError as error:
        raise ModelError(str(error)) from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except ElementTree.ParseError as error:
        raise ModelError(f"{path}: not XML: {error}") from None
    if tree.tag not in root_tags:
        raise ModelError(f"{path}: the root element is <{tree.tag:.40}>; <{root_tags[0]}> was expected")
    return tree
