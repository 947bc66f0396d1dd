"""The import contract: a room imports rooms below it, only their public modules, and nothing above it.

`LAYERS` is the order, lowest first. `CLOSED` lists the modules that belong to one room alone.
"""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "twinloop"

LAYERS = (
    # foundations
    "errors", "durable", "lazy", "plugins", "catalog", "signals", "config",
    # stages, in the order of the flow
    "twin", "randomize", "simulate", "observe", "curate", "run", "scene_export", "fleet",
    "environments", "dataset", "learn", "gate",
    "deploy", "diagnose", "calibrate",
    # the order of the stages, then the packages that present results
    "pipeline", "dashboard", "api", "cli", "__init__", "__main__",
)  # fmt: skip

CLOSED = {
    "calibrate": ("beginning", "cross_validation", "decoupled", "effort_check", "excitation", "identify", "loads",
                  "objective", "people", "population", "profile", "recorded_log", "search", "selection",
                  "slots", "top_speed", "track", "weigh"),
    "dataset": ("_", "compiled_ffv1", "ffv1", "identity", "lerobot", "manifest", "seal", "transitions", "writer"),
    "deploy": ("action_loop", "description", "episode", "freshness", "lerobot", "policy", "reading_check", "rehearsal",
               "safety", "schedule"),
    "fleet": ("on_ray", "reports", "worker"),
    "gate": ("compare", "statistics.bets", "statistics.binomial"),
    "learn": ("demonstrations", "mixture", "scales", "tensors", "torch_runtime"),
    "observe": ("appearance", "compiled_depth", "compiled_drawn", "compiled_kernels", "compiled_sampling", "daylight",
                "drawn_frames", "drawn_geoms", "flow", "frame_batch", "gl_target", "label_ids", "materials",
                "occluders", "painter", "projection", "rasterizer", "shading", "shutter", "soft_surface", "stage",
                "tessellation", "texture_stack", "tracking"),
    "randomize": ("actuation", "appearance", "bystander", "disturbance", "environment", "human", "latency", "optics",
                  "sequence", "surroundings", "visual"),
    "scene_export": ("drives", "files", "links", "looks", "mjcf", "scene", "soft", "spec", "surfaces", "transforms",
                     "urdf", "usd"),
    "simulate": ("cpu_engine", "warp_engine"),
    "twin": ("meshes.convex_parts", "meshes.mesh_file", "products.families", "products.parts",
             "robot_files.trial", "robots.so101", "tasks.handover"),
}  # fmt: skip
"""Room -> modules (or packages, or the prefix `_`) that no other room imports."""

Import = tuple[str, str, str]
"""(importing room, importing file, imported module without the leading `twinloop.`)."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0 and node.module.startswith("twinloop."):
            module = node.module.removeprefix("twinloop.")
            for alias in node.names:
                yield f"{module}.{alias.name}" if is_module(module, alias.name) else module
        elif isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("twinloop.") for alias in node.names if "twinloop." in alias.name)


def is_module(package: str, name: str) -> bool:
    """Whether `from package import name` gives a module, not a function of that name that the package exports."""
    folder = PACKAGE / Path(*package.split("."))
    if not (folder / f"{name}.py").exists():
        return False
    return name not in strings_of(folder / "__init__.py")


@cache
def strings_of(path: Path) -> set[object]:
    """The constants in a module, among which are the names that it exports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


@cache
def cross_room_imports() -> list[Import]:
    return [
        (room_of(path), str(path.relative_to(PACKAGE)), module)
        for path in sorted(PACKAGE.rglob("*.py"))
        for module in imports_of(path)
        if module.split(".")[0] != room_of(path)
    ]


def is_closed(module: str) -> bool:
    room, _, inside = module.partition(".")
    parts = inside.split(".")
    return any(
        inside == closed or inside.startswith(f"{closed}.") or (closed == "_" and any(p.startswith("_") for p in parts))
        for closed in (*CLOSED.get(room, ()), "_")
    )


def test_every_room_has_a_place_in_the_layers():
    rooms = {room_of(path) for path in PACKAGE.rglob("*.py")}
    assert rooms <= set(LAYERS), f"add to LAYERS: {sorted(rooms - set(LAYERS))}"


def test_no_room_imports_a_room_above_it():
    upward = [
        f"{file} imports twinloop.{module}"
        for room, file, module in cross_room_imports()
        if LAYERS.index(module.split(".")[0]) > LAYERS.index(room)
    ]
    assert not upward, "\n".join(upward)


def test_no_room_imports_the_insides_of_another():
    inside = [f"{file} imports twinloop.{module}" for _, file, module in cross_room_imports() if is_closed(module)]
    assert not inside, "\n".join(inside)


def test_the_modules_of_the_contract_exist():
    for room, modules in CLOSED.items():
        for module in modules:
            if module == "_":
                continue
            path = PACKAGE / room / Path(*module.split("."))
            assert path.is_dir() or path.with_suffix(".py").exists(), f"CLOSED names {room}.{module}, which is gone"


@pytest.mark.parametrize("source", ["import twinloop.pipeline.generate", "from twinloop.gate.rules import robot"])
def test_the_reader_of_imports_sees_every_form(tmp_path: Path, source: str):
    file = tmp_path / "sample.py"
    file.write_text(source, encoding="utf-8")
    expected = source.replace("import ", "").replace("from ", "").replace("twinloop.", "").replace(" ", ".")
    assert list(imports_of(file)) == [expected]


def test_pipeline_can_be_read_in_one_sitting():
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (PACKAGE / "pipeline").rglob("*.py"))
    assert lines <= 1_200, f"pipeline/ has {lines} lines; a stage should hold some of them"


@pytest.mark.parametrize("room", [layer for layer in LAYERS if (PACKAGE / layer / "__init__.py").exists()])
def test_what_a_room_exports_exists_and_is_defined_there(room: str):
    package = import_module(f"twinloop.{room}")
    lazy = "__getattr__" in vars(package)
    for name in dir(package) if lazy else getattr(package, "__all__", ()):
        value = getattr(package, name)
        if lazy and isinstance(value, type):
            assert value.__module__.startswith(f"twinloop.{room}."), f"{name} belongs to {value.__module__}"
    with pytest.raises(AttributeError):
        _ = package.no_such_name


def test_a_class_name_means_one_thing():
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert not twice, twice
