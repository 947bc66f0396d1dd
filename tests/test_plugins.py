"""Plugins: objects of other packages are found; faulty entry points are named with their package."""

from pathlib import Path

import pytest

from twinloop import plugins
from twinloop.errors import PluginError
from twinloop.plugins import GROUPS, instance_of, load_plugins, plugin_names, plugin_versions, subclass_of


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install packages: name of the package, its entry points by group, and the source of its module."""

    def run(package: str, points: dict[str, dict[str, str]], source: str = "") -> None:
        module = package.replace("-", "_")
        info = tmp_path / f"{module}-2.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.1\n")
        lines = [
            f"[{group}]\n" + "".join(f"{n} = {value}\n" for n, value in named.items())
            for group, named in points.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        (tmp_path / f"{module}.py").write_text(source)

    monkeypatch.syspath_prepend(tmp_path)
    plugins._entry_points.cache_clear()
    yield run
    plugins._entry_points.cache_clear()


def load(group: plugins.Group = "twinloop.robots", builtin: tuple[str, ...] = ()) -> dict:
    return load_plugins(group, instance_of(str), "a text", builtin=builtin)


@pytest.mark.parametrize("group", GROUPS)
def test_an_entry_point_of_every_group_is_loaded_by_its_name(install, group: plugins.Group):
    install("loaded-package", {group: {"b": "loaded_package:B", "a": "loaded_package:A"}}, "A, B = 'first', 'second'")
    assert plugin_names(group) == ("a", "b")
    assert load(group) == {"a": "first", "b": "second"}
    assert plugin_versions({group: ["a", "built_in"]}) == {"loaded-package": "2.1"}
    assert plugin_versions({group: ["built_in"]}) == {}


def test_an_object_of_the_wrong_type_is_refused_with_package_and_entry_point(install):
    install("wrong-type", {"twinloop.robots": {"arm": "wrong_type:ARM"}}, "ARM = 3")
    with pytest.raises(PluginError, match=r"package wrong-type 2.1: entry point 'arm' of twinloop.robots") as raised:
        load()
    assert "is an object of type int; a text was expected" in str(raised.value)


def test_a_package_that_cannot_be_imported_is_an_error_with_its_cause(install):
    install("broken-import", {"twinloop.robots": {"arm": "broken_import:ARM"}}, "import a_module_that_is_not_there")
    with pytest.raises(PluginError, match=r"broken-import 2.1.*ModuleNotFoundError.*Fix or uninstall"):
        load()


@pytest.mark.parametrize(
    ("line", "nearest"),
    [("from twinloop.twin.skills import grap", "grasp"), ("from twinloop.twin.relations import insid", "inside")],
)
def test_an_unknown_skill_or_relation_is_named_with_file_line_and_the_nearest_name(install, line: str, nearest: str):
    install(f"bad-{nearest}", {"twinloop.tasks": {"mine": f"bad_{nearest}:MINE"}}, f"\n{line}\nMINE = 1")
    with pytest.raises(PluginError) as raised:
        load("twinloop.tasks")
    message = str(raised.value)
    for word in (f"bad-{nearest} 2.1: entry point 'mine'", f"bad_{nearest}.py:2", f"did you mean {nearest}", "Fix or"):
        assert word in message, message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("bad_entity", "program=(*grasp('objct'), *lift('objct'))", ["phase 1", "did you mean object"]),
        ("bad_end", "longest_s=float('inf')", ["longest_s: is inf", "at most 600 s"]),
    ],
)
def test_a_task_with_a_mistake_is_named_with_package_file_and_line(install, name: str, change: str, words: list[str]):
    source = (
        "from dataclasses import replace\nfrom twinloop.twin.skills import grasp, lift\n"
        f"from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE\n\nMINE = replace(PICK_AND_PLACE, {change})\n"
    )
    install(name.replace("_", "-"), {"twinloop.tasks": {"mine": f"{name}:MINE"}}, source)
    with pytest.raises(PluginError) as raised:
        load("twinloop.tasks")
    message = str(raised.value)
    for word in ("entry point 'mine' of twinloop.tasks", f"{name}.py:5", "task 'pick_and_place'", "Fix or", *words):
        assert word in message, message
    assert "\n" not in message


def test_a_name_that_is_built_in_is_refused(install):
    install("takes-name", {"twinloop.robots": {"franka_panda": "takes_name:ARM"}}, "ARM = 'an arm'")
    with pytest.raises(PluginError, match="'franka_panda' is already taken by Twinloop itself"):
        load(builtin=("franka_panda",))


def test_a_name_that_another_package_has_is_refused_and_both_packages_are_named(install):
    install("first-package", {"twinloop.robots": {"arm": "first_package:ARM"}}, "ARM = 'an arm'")
    install("second-package", {"twinloop.robots": {"arm": "second_package:ARM"}}, "ARM = 'another arm'")
    with pytest.raises(PluginError) as raised:
        load()
    assert "first-package 2.1" in str(raised.value)
    assert "second-package 2.1" in str(raised.value)


def test_an_object_with_another_name_than_its_entry_point_is_refused(install):
    install("other-name", {"twinloop.robots": {"arm": "other_name:Arm"}}, "class Arm:\n    name = 'leg'\n")
    with pytest.raises(PluginError, match="the object is named 'leg'; give the entry point that name"):
        load_plugins("twinloop.robots", subclass_of(object), "a class", builtin=())
