"""Run the commands and Python blocks of a page in this process: a new process would import everything again."""

import contextlib
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

from twinloop.cli import main


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run_commands(commands: str, folder: Path, *, environment: Mapping[str, str] | None = None) -> None:
    """Run every command of a block in a folder. Each must end with code 0."""
    with contextlib.chdir(folder), patch.dict(os.environ, environment or {}):
        for program, *arguments in split_commands(commands):
            if program == "twinloop":
                assert main(arguments) == 0, f"failed: {shlex.join(arguments)}"
            else:
                subprocess.run([program, *arguments], check=True)


def run_python(script: str, folder: Path, *, environment: Mapping[str, str] | None = None) -> None:
    """Run a block of Python in a folder."""
    with contextlib.chdir(folder), patch.dict(os.environ, environment or {}):
        exec(compile(script, "page", "exec"), {"__name__": "__main__"})


def split_commands(block: str) -> Iterator[list[str]]:
    """The words of each command. Quotes and backslashes may continue a command on the next line."""
    command = ""
    for line in block.splitlines():
        command += line + "\n"
        if line.endswith("\\"):
            continue
        with contextlib.suppress(ValueError):  # an open quotation: the next line belongs to it
            words = shlex.split(command, comments=True)
            command = ""
            if words:
                yield words
    assert not command, f"an open quotation: {command}"
