"""Catalogs: the files of a folder are its entries, and a file is imported when its object is asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

from twinloop.catalog import Catalog
from twinloop.errors import ModelError
from twinloop.learn.policies import POLICIES
from twinloop.twin.robots import robots
from twinloop.twin.tasks import tasks

ENTRY = "from types import SimpleNamespace\nENTRY = SimpleNamespace(name='{name}')\n"


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog of a package with the entry `first`, which was made in a temporary folder."""
    package = f"catalog_{tmp_path.name.replace('-', '_')}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / package / "first.py").write_text(ENTRY.format(name="first"))
    (tmp_path / package / "_part.py").write_text("raise AssertionError('a private file is no entry')")
    monkeypatch.syspath_prepend(tmp_path)
    return Catalog(package, "twinloop.robots", lambda entry: hasattr(entry, "name"), "a named object")


def folder_of(catalog: Catalog) -> Path:
    return Path(str(sys.modules[catalog._package].__file__)).parent


def test_every_public_file_is_an_entry(catalog: Catalog):
    assert list(catalog) == ["first"]
    assert catalog["first"].name == "first"
    assert "_part" not in catalog
    assert len(catalog) == 1


def test_a_file_without_its_object_is_an_error_that_names_the_file(catalog: Catalog):
    list(catalog)
    folder = folder_of(catalog)
    (folder / "second.py").write_text(ENTRY.format(name="another"))
    fresh: Catalog = Catalog(
        catalog._package, "twinloop.robots", lambda entry: hasattr(entry, "name"), "a named object"
    )
    assert list(fresh) == ["first", "second"]
    with pytest.raises(LookupError, match=r"\.second: a named object named 'second' was expected"):
        fresh["second"]
    with pytest.raises(KeyError):
        fresh["third"]


@pytest.mark.parametrize("entries", [robots(), tasks(), POLICIES], ids=["robots", "tasks", "policies"])
def test_every_entry_of_the_package_has_the_name_of_its_file(entries: Catalog):
    if entries is POLICIES:
        pytest.importorskip("torch")
    assert {name: entry.name for name, entry in entries.items()} == {name: name for name in entries}


def test_names_of_policies_need_no_torch():
    source = "import sys; from twinloop.learn.policies import POLICIES as p; print('act' in p, 'torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert run.stdout == "True False\n"


def test_an_unknown_skill_is_named_with_the_file_and_the_nearest_one(catalog: Catalog):
    len(catalog)
    folder = folder_of(catalog)
    (folder / "second.py").write_text("from twinloop.twin.skills import cary\n")
    again = Catalog(catalog._package, "twinloop.robots", lambda entry: hasattr(entry, "name"), "a named object")
    with pytest.raises(ModelError, match=r"second.py: imports 'cary' from twinloop.twin.skills; did you mean carry"):
        again["second"]
