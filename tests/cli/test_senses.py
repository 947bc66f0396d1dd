"""The commands of the page are valid, and the files that they name exist."""

import re
from pathlib import Path

from twinloop.cli.command_line import parser_of

ROOT = Path(__file__).parents[2]


def test_the_commands_of_the_page_are_understood():
    page = (ROOT / "docs" / "calibrating_sensors.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        words = line.split()
        assert words[0] == "twinloop"
        parsed = parser_of(words[1:]).parse_args(words[1:])
        assert (ROOT / parsed.twin).exists(), line
