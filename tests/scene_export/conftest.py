"""Snapshots of cells that the tests of every format export."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.scene_export.made import workshop
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.default import embedded_config
from twinloop.scene_export.snapshot import Snapshot, snapshot_of
from twinloop.twin.objects import OBJECTS


def soft_cell() -> RunConfig:
    config = embedded_config()
    scene = replace(config.scene, object=OBJECTS["sponge"])
    return replace(config, scene=scene, randomization={})


def two_arms() -> RunConfig:
    return config_from_text("scene: {robot: dual_panda, task: lift_tray}", name="two.yaml", folder=Path())


SNAPSHOTS = {
    "nominal": lambda: snapshot_of(embedded_config()),
    "drawn": lambda: snapshot_of(embedded_config(), episode=5),
    "soft": lambda: snapshot_of(soft_cell()),
    "two_arms": lambda: snapshot_of(two_arms()),
    "workshop": workshop,
}


@pytest.fixture(scope="session", params=SNAPSHOTS)
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    return SNAPSHOTS[request.param]()
