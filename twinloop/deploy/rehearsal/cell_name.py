"""CellName: the parts of a rehearsal cell's name.

    [ENGINE:][CELL][,KEY=VALUE ...]

    harsh                                              a shipped cell
    path/to/cell.yaml                                  a file
    gap=latency:0.6,seed=3                             one gap
    physx:gap=latency:0.6+contact:0.3,effect=cable:0.7 two gaps and an effect, in the other engine
    mild,robot=xarm7,task=stack                        another robot and task
    mild,config=cell.yaml                              robot, task, things, rate and cameras of a run config

Only the cell's process reads what the name refers to. This module knows the grammar and nothing about the truth.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from twinloop.errors import UsageError, nearest

ENGINES = ("drake", "physx")
SCENE_KEYS = ("robot", "task", "config")
KEYS = ("seed", "gap", "effect", "own", *SCENE_KEYS)
PANDA, PICK_AND_PLACE = "franka_panda", "pick_and_place"


@dataclass(frozen=True)
class CellName:
    """The name of a cell. cell: a shipped cell or a file, "" if only keys are given. words: key -> its text."""

    engine: str
    cell: str
    words: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        engine = () if self.engine == ENGINES[0] else (f"{self.engine}:",)
        parts = [*([self.cell] if self.cell else []), *(f"{key}={text}" for key, text in self.words.items())]
        return "".join(engine) + ",".join(parts)


def parse_cell_name(text: str) -> CellName:
    """Return the parts of `text`, the name of a cell without `rehearsal:`."""
    engine, colon, rest = text.partition(":")
    if not colon or engine not in ENGINES:
        engine, rest = ENGINES[0], text
        if colon and re.fullmatch("[a-z0-9]+", text.partition(":")[0]):
            raise UsageError(f"rehearsal:{text}: no such engine; {nearest(text.partition(':')[0], ENGINES)}")
    # A comma inside a path is not followed by `key=`.
    first, *others = re.split(r",(?=[a-z]+=)", rest)
    cell, parts = ("", [first, *others]) if re.match("[a-z]+=", first) else (first, others)
    words: dict[str, str] = {}
    for part in parts:
        key, _, value = part.partition("=")
        if key not in KEYS:
            raise UsageError(f"rehearsal:{text}: {key!r} is not known here; {nearest(key, KEYS)}")
        words[key] = f"{words[key]}+{value}" if key in words and key in ("gap", "effect") else value
    if not cell and not set(words) - {*SCENE_KEYS, "own"}:
        cell = "nominal"
    return CellName(engine, cell, words)


def with_scene(text: str, *, robot: str, task: str, config: str = "") -> str:
    """Return the name with robot and task, or with the config that has them, unless it has a scene already.

    A cell has the Panda and pick_and_place if its name says nothing, so these are not added.
    """
    name = parse_cell_name(text)
    if set(name.words) & set(SCENE_KEYS):
        return text
    added = {"config": config} if config else {
        key: value for key, value, default in (("robot", robot, PANDA), ("task", task, PICK_AND_PLACE))
        if value != default
    }  # fmt: skip
    return str(replace(name, words={**name.words, **added})) if added else text
