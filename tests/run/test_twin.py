"""A process compiles the twin of a config once. Configs that give other episodes have other twins."""

import shutil
from pathlib import Path

import yaml

from tests.twin.small_robots import stl_box, urdf_arm
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import MAX_COMPILED, twin_of
from twinloop.twin.robot_files.inspection.proposal import propose
from twinloop.twin.robot_files.model_source import ModelSource


def config(text: str) -> RunConfig:
    return config_from_text(text, name="test.yaml", folder=Path())


def test_equal_configs_share_one_twin():
    assert twin_of(config("rollout: {seed: 1}")) is twin_of(config("rollout: {seed: 2, parallel_envs: 8}"))


def test_a_config_that_decides_other_episodes_has_another_twin():
    one, other = twin_of(config("{}")), twin_of(config("rollout: {timestep_ms: 2}"))
    assert one is not other
    assert other.model.opt.timestep == 0.002


def test_the_number_of_kept_twins_is_bounded():
    first = twin_of(config("curate: {longest_s: 30}"))
    for longest in range(31, 31 + MAX_COMPILED):
        twin_of(config(f"curate: {{longest_s: {longest}}}"))
    assert twin_of(config("curate: {longest_s: 30}")) is not first


def test_the_twin_of_a_moved_robot_reads_its_meshes_from_the_new_folder(tmp_path: Path):
    twins = []
    for name in ("first", "second"):
        folder = tmp_path / name
        stl_box(folder / "forearm.stl", 0.08)
        (folder / "arm.urdf").write_text(urdf_arm(fingers=True, mesh="forearm.stl"))
        robot = propose(ModelSource(folder / "arm.urdf")).mapping
        text = yaml.safe_dump({"scene": {"robot": robot, "task": "pick_and_place"}})
        twins.append(twin_of(config_from_text(text, name="cell.yaml", folder=folder)))
        shutil.rmtree(tmp_path / "first", ignore_errors=name == "second")
    assert twins[0].model is twins[1].model
    twins[1].robot.build()
