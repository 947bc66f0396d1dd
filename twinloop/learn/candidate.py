"""Candidate: a policy that is to be tried out in a twin."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from twinloop.errors import CheckpointError
from twinloop.learn.card import read_card
from twinloop.learn.runtime import PolicyRuntime
from twinloop.learn.space import Space, table_of
from twinloop.observe.estimate import ESTIMATE, derived
from twinloop.observe.features import features_of
from twinloop.observe.pictures import picture_features
from twinloop.run.config import RunConfig, load_config
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class Candidate:
    """name: for people. digest: what it is. policy: its kind. space: what it reads and commands.
    load: makes the runtime, in whichever process it is called. seeds: of the simulated runs it was trained on.
    runs: the folders those may be in, and the digests of their configs."""

    name: str
    digest: str
    policy: str
    space: Space
    load: Callable[[], PolicyRuntime]
    seeds: frozenset[int] = frozenset()
    runs: tuple[tuple[Path, str], ...] = ()


def candidate_of(checkpoint: Path) -> Candidate:
    """Of its card alone: whoever only asks for workers need not load the network."""
    card = read_card(checkpoint)
    simulated = [source for source in card.data if source["kind"] != "real"]
    return Candidate(
        name=checkpoint.resolve().name,
        digest=card.digest,
        policy=card.policy,
        space=card.space,
        load=partial(_load, str(checkpoint.resolve())),
        seeds=frozenset(int(source["run_seed"]) for source in simulated),
        runs=tuple(
            (folder / str(source["path"]), str(source["config_digest"]))
            for source in simulated
            for folder in (Path(), Path("datasets"), checkpoint.parent, checkpoint.parent.parent / "datasets")
        ),
    )


def home_config(candidate: Candidate) -> tuple[RunConfig, str] | None:
    """The config of a simulated dataset it was trained on, where that is found and is what it was, and its name."""
    for folder, digest in candidate.runs:
        path = folder / "config.yaml"
        if path.is_file():
            config = load_config(path)
            if config.digest == digest:
                return config, folder.name
    return None


def _load(path: str) -> PolicyRuntime:
    from twinloop.learn.checkpoint import load_runtime

    runtime = load_runtime(Path(path))
    # Workers share the cores out among themselves; threads of each would only be in each other's way.
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return runtime


def space_of(config: RunConfig, twin: Twin, like: Space) -> Space:
    """What the twin offers of what a policy reads, and what it can be commanded."""
    offered = {
        feature.name: feature for feature in features_of(twin, config.observe) + picture_features(config.cameras, twin)
    }
    made_out = derived(offered, twin.robot.name)
    if made_out is not None:
        offered[ESTIMATE] = made_out
    inputs = tuple(offered[feature.name] for feature in like.inputs if feature.name in offered)
    return replace(like, robot=twin.robot.name, rate_hz=float(twin.control_hz), inputs=inputs, action=offered["action"])


def refuse_misfit(candidate: Candidate, config: RunConfig, twin: Twin, *, config_name: str) -> None:
    """A policy for another robot, rate or set of sensors cannot be tried out here."""
    differences = candidate.space.differences(space_of(config, twin, candidate.space))
    if differences:
        table = table_of(differences, here=candidate.name, there=config_name)
        raise CheckpointError(f"{candidate.name} does not fit the cell of {config_name}; these differ:\n{table}")
