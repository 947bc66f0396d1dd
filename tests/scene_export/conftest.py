"""Snapshots of cells that the tests of every format export."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from tests.scene_export.made import workshop
from tests.twin.small_robots import stl_box, urdf_arm
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.default import embedded_config
from twinloop.scene_export.snapshot import Snapshot, snapshot_of
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robot_files.inspection.proposal import propose
from twinloop.twin.robot_files.model_source import ModelSource


def soft_cell() -> RunConfig:
    config = embedded_config()
    scene = replace(config.scene, object=OBJECTS["sponge"])
    return replace(config, scene=scene, randomization={})


def two_arms() -> RunConfig:
    return config_from_text("scene: {robot: dual_panda, task: lift_tray}", name="two.yaml", folder=Path())


def own_robot() -> Snapshot:
    """A user's URDF with a mesh, mimic joints and no actuators, with the mapping that inspect-robot proposes."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        stl_box(folder / "forearm.stl", 0.08)
        (folder / "arm.urdf").write_text(urdf_arm(fingers=True, mesh="forearm.stl"))
        proposal = propose(ModelSource(folder / "arm.urdf"))
        text = yaml.safe_dump({"scene": {"robot": proposal.mapping, "task": "pick_and_place"}})
        return snapshot_of(config_from_text(text, name="cell.yaml", folder=folder))


SNAPSHOTS = {
    "nominal": lambda: snapshot_of(embedded_config()),
    "drawn": lambda: snapshot_of(embedded_config(), episode=5),
    "soft": lambda: snapshot_of(soft_cell()),
    "two_arms": lambda: snapshot_of(two_arms()),
    "own_robot": own_robot,
    "workshop": workshop,
}


@pytest.fixture(scope="session", params=SNAPSHOTS)
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    return SNAPSHOTS[request.param]()
