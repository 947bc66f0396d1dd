"""The habits of the project: hooks run local programs, and every make target has a description."""

import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_hooks_before_a_commit_need_no_remote_host():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repository["repo"] for repository in hooks["repos"]] == ["local"]
    for hook in hooks["repos"][0]["hooks"]:
        program = Path(hook["entry"].split()[0])
        assert program.parts[:2] == (".venv", "bin")
        assert (Path(sys.executable).parent / program.name).exists()


def test_every_target_of_the_makefile_is_listed_by_help():
    text = (ROOT / "Makefile").read_text()
    targets = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())  # pyright: ignore[reportOptionalSubscript]
    described = set(re.findall(r"^([a-z]+):.*##", text, re.MULTILINE))
    assert targets - described == {"chromium", "opengl"}, "a target without `## description`"  # parts of setup


def test_the_newest_release_of_the_changelog_is_the_version():
    project = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    releases = re.findall(r"^## (\S+)(?: \(\d{4}-\d{2}-\d{2}\))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert project is not None
    assert releases[:2] == ["Unreleased", project[1]]
