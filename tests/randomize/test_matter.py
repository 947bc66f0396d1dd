"""Rows of matter do in the physics what they say."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.conftest import Simulate
from twinloop.curate.judge import judge
from twinloop.diagnose.traits import Arm
from twinloop.randomize.distribution import Constant, Distribution
from twinloop.randomize.draw import Sampler
from twinloop.randomize.matter import INSERT_RADIUS_M
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.soft import axes_of
from twinloop.twin.twin import Twin


def fixed(**values: float) -> dict[str, Distribution]:
    return {name: Constant(value) for name, value in values.items()}


def admitted(twin: Twin, **values: float) -> Cell:
    cell = Cell(twin, width=1)
    cell.admit(np.array([0]), Sampler(fixed(**values), seed=0).draw(0, 1), np.array([0]))
    assert not cell.failed.any()
    return cell


def carried(episodes: Episodes, twin: Twin) -> np.ndarray:
    return episodes["phase"][:, 0] == [phase.name for phase in twin.task.phases].index("transfer")


@pytest.mark.parametrize("stiffness", [30.0, 60.0])
@pytest.mark.parametrize("mass", [0.08, 0.4])
def test_a_pad_gives_by_force_over_stiffness(twin: Twin, simulate: Simulate, stiffness: float, mass: float):
    """Whatever the object weighs: it is the pad that gives. Measured by how far the fingers close."""
    able = assemble(twin.robot, twin.task, twin.object, features=Features(soft_pads=True))
    episodes = simulate(2, of=able, ranges=fixed(pad_stiffness_n_mm=stiffness, object_mass_kg=mass))
    grip = carried(episodes, able)
    force_n = episodes["contact"][grip, :2].mean()
    give_mm = 500 * (2 * able.object.half_extents_m[1] - episodes["position"][grip, -1].mean())
    assert episodes.success.all()
    np.testing.assert_allclose(give_mm, force_n / stiffness, rtol=0.12)


def test_soft_pads_leave_friction_and_the_table_to_the_object(twin: Twin, simulate: Simulate):
    """A grip that slips with hard pads slips with soft ones."""
    able = assemble(twin.robot, twin.task, twin.object, features=Features(soft_pads=True))
    for friction, holds in ((0.03, False), (0.8, True)):
        ranges = fixed(friction_coefficient=friction, pad_stiffness_n_mm=40.0, object_mass_kg=0.4)
        assert simulate(1, of=able, ranges=ranges).success.all() == holds
    cell = admitted(able, pad_stiffness_n_mm=30.0)
    table = admitted(able)
    for scene in (cell, table):
        scene.step(None, np.array([able.robot.home_rad]), np.array([[able.robot.gripper.open]]))
    np.testing.assert_array_equal(cell.position("object"), table.position("object"))


def slid_m(twin: Twin, quat: tuple[float, float, float, float], **values: float) -> float:
    """How far the object slides in a second on a table that leans by 15 degrees (tan 15° = 0.27)."""
    cell = admitted(twin, **{"gravity_tilt_deg": 10.5, "friction_coefficient": 0.5} | values)
    qpos = twin.things[0].qpos
    cell.engine.bind("qpos")[0, qpos + 3 : qpos + 7] = quat
    cell.batch.forward()
    before = cell.position("object").copy()
    for _ in range(25):
        cell.step(None, np.array([twin.robot.home_rad]), np.array([[twin.robot.gripper.open]]))
    return float(np.linalg.norm(cell.position("object")[:, :2] - before[:, :2]))


def test_friction_differs_over_the_surface(twin: Twin):
    able = assemble(twin.robot, twin.task, twin.object, features=Features(two_materials=True))
    upright, turned_over = (1, 0, 0, 0), (0, 1, 0, 0)
    assert slid_m(able, upright, surface_friction_ratio=0.2) < 0.01
    assert slid_m(able, turned_over, surface_friction_ratio=0.2) > 0.1
    assert slid_m(able, turned_over, surface_friction_ratio=1.0) < 0.01


def test_a_cut_object_weighs_and_falls_like_a_whole_one(twin: Twin, simulate: Simulate):
    able = assemble(twin.robot, twin.task, twin.object, features=Features(two_materials=True))
    body = able.object_body
    for field in ("body_mass", "body_inertia", "body_ipos"):
        np.testing.assert_allclose(getattr(able.model, field)[body], getattr(twin.model, field)[body], atol=1e-12)
    assert simulate(4, of=able, ranges=fixed(surface_friction_ratio=0.6)).success.all()


@pytest.mark.parametrize("scale", [1.0, 1.15])
def test_an_insert_moves_mass_as_if_it_were_compiled_in(twin: Twin, scale: float):
    """The engine's own sums for a box and a ball in it, against ours."""
    able = assemble(twin.robot, twin.task, twin.object, features=Features(off_centre_mass=True))
    share, mass, place = 0.4, 0.3, np.array([0.5, -0.3, 0.6])
    half = scale * np.array(able.object.half_extents_m)
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half, mass=(1 - share) * mass)
    body.add_geom(size=[INSERT_RADIUS_M, 0, 0], pos=place * half, mass=share * mass)
    expected = spec.compile()

    ranges = fixed(heavy_insert_share=share, object_mass_kg=mass, object_size_scale=scale)
    draws = Sampler(ranges | {"heavy_insert_place": Constant(0.0)}, seed=0).draw(0, 1)
    values = dict(draws.values) | {f"heavy_insert_place.{axis}": place[i : i + 1] for i, axis in enumerate("xyz")}
    cell = Cell(able, width=1)
    where = cell.batch.bind("xipos")
    cell.admit(np.array([0]), type(draws)(draws.attempts, values, draws.varied), np.array([0]))
    thing = able.object_body
    np.testing.assert_allclose(cell["body_mass"][0, thing], mass)
    np.testing.assert_allclose(where[0, thing] - cell.position("object")[0], expected.body_ipos[1], atol=1e-9)
    np.testing.assert_allclose(
        tensor(cell["body_inertia"][0, thing], cell["body_iquat"][0, thing]),
        tensor(expected.body_inertia[1], expected.body_iquat[1]),
        rtol=1e-6, atol=1e-12,
    )  # fmt: skip


def tensor(inertia: np.ndarray, quat: np.ndarray) -> np.ndarray:
    axes = axes_of(quat[None])[0]
    return axes @ np.diag(inertia) @ axes.T


def test_an_insert_in_the_middle_leaves_the_centre_and_draws_mass_in(twin: Twin):
    able = assemble(twin.robot, twin.task, twin.object, features=Features(off_centre_mass=True))
    cell, plain = admitted(able, heavy_insert_share=0.5), admitted(able, object_mass_kg=able.object.mass_kg)
    body = able.object_body
    np.testing.assert_allclose(cell["body_ipos"][0, body], 0, atol=1e-12)
    assert (cell["body_inertia"][0, body] < 0.6 * plain["body_inertia"][0, body]).all()


def test_a_ratio_of_slip_to_sinking_slows_creep(twin: Twin, simulate: Simulate):
    """How far a heavy cube sags in the fingers while it is carried: less, the harder slip is resisted."""
    sag = []
    for impratio in (1.0, 10.0):
        episodes = simulate(1, ranges=fixed(object_mass_kg=0.8, friction_coefficient=0.5, solver_impratio=impratio))
        grip = carried(episodes, twin)
        tool_m = Arm(twin).tool(episodes["position"][grip, :-1])
        below_m = tool_m[:, 2] - episodes["environment"][grip, 2]
        sag.append(float(below_m[-5:].mean() - below_m[:5].mean()))
    assert sag[1] < 0.7 * sag[0]


def test_noslip_steps_and_iterations_reach_the_solver(twin: Twin):
    cell = admitted(twin, solver_iterations=12.4, solver_noslip_iterations=2.6)
    options = cell.batch.get_model(0).opt
    assert (options.iterations, options.noslip_iterations) == (12, 3)


def test_the_fewest_steps_of_the_realistic_range_lose_no_grasp():
    """Other rows vary too: they make contacts that need more steps."""
    steps = BY_NAME["solver_iterations"].sensible[0]
    text = (
        "scene: {robot: so101, task: pick_and_place}\n"
        f"randomization: {{preset: realistic, physics: {{solver_iterations: {steps}}}}}"
    )
    config = config_from_text(text, name="cell.yaml", folder=Path())
    twin = twin_of(config)
    expert = Expert(twin, config.expert, width=16, seed=0)
    (made,) = rollout(Cell(twin, width=16), iter([config.sampler().draw(0, 16)]), expert, seed=0)
    assert judge(made, twin, config.curate).accepted.sum() >= 13


def test_a_margin_holds_the_object_off_the_table(twin: Twin):
    heights = []
    for margin in (0.0, 1.0):
        cell = admitted(twin, contact_margin_mm=margin)
        for _ in range(25):
            cell.step(None, np.array([twin.robot.home_rad]), np.array([[twin.robot.gripper.open]]))
        heights.append(float(cell.position("object")[0, 2]))
    np.testing.assert_allclose(heights[1] - heights[0], 0.001, rtol=0.1)
