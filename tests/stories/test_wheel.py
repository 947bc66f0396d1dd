"""A wheel is built from the sources and installed in an empty environment, where the command line works."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "twinloop", source / "twinloop", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
         "--wheel-dir", folder, source],
        check=True, capture_output=True,
    )  # fmt: skip
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a virtual environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "bin"


def run(*words: object, env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run([str(word) for word in words], env=env, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_package(wheel: Path):
    ignored = {"__pycache__"}
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "twinloop").rglob("*")
        if path.is_file() and not ignored & set(path.parts)
    }
    assert "twinloop/py.typed" in files
    assert files <= set(zipfile.ZipFile(wheel).namelist()), "name the missing files in [tool.setuptools.package-data]"


def test_importing_the_package_needs_no_dependency(empty: Path, tmp_path: Path):
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    printed = run(empty / "python", "-c", "import twinloop; print(twinloop.__file__)", env=clean, cwd=tmp_path)
    assert Path(printed.strip()).is_relative_to(empty.parent)


def test_with_the_dependencies_the_installed_program_makes_a_dataset(empty: Path, tmp_path: Path):
    # Only the dependencies of this environment: the sources are found through a .pth file, which this ignores.
    libraries = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    run(
        empty / "twinloop",
        "generate",
        "--episodes",
        "4",
        "--out",
        "data",
        "--workers",
        "1",
        env=libraries,
        cwd=tmp_path,
    )
    assert (tmp_path / "data" / "report.html").stat().st_size > 10_000
    printed = run(
        empty / "python", "-c", "import twinloop.pipeline as p; print(p.__file__)", env=libraries, cwd=tmp_path
    )
    assert Path(printed.strip()).is_relative_to(empty.parent)
