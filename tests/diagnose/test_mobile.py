"""Robots with legs or wheels: traits, counterfactual cells, and gaps that are told apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import pytest

from tests.short_chains import short_chains
from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.causes import Cause, hypothesis_of
from twinloop.diagnose.counterfactuals import CounterfactualJob
from twinloop.diagnose.diagnosis import diagnose_traits
from twinloop.diagnose.emulator import emulator_of
from twinloop.diagnose.hypothesis import NOTHING, Hypothesis
from twinloop.diagnose.hypothesis_set import MOBILE_TOLERANCE, Chunk, causes_in, chunk_of, sizes_of
from twinloop.diagnose.mobile_counterfactuals import simulate_mobile
from twinloop.diagnose.small_errors import small_errors
from twinloop.diagnose.traits import TRAITS
from twinloop.diagnose.traits.walk_episode import LegsModel
from twinloop.environments.make import mobile_embodiment
from twinloop.learn.chunks import ActingConfig
from twinloop.learn.space import Space
from twinloop.randomize.parameter import GAPS
from twinloop.run.config import config_from_text
from twinloop.run.mobile import MobileConfig

WALK = """\
scene: {robot: quadruped}
commands: {forward_m_s: [0, 0.2], sideways_m_s: 0, turn_rad_s: [-0.3, 0.3], interval_s: 1.5, standing_share: 0}
environment: {time_limit_s: 3}
"""
DRIVE = """\
scene: {robot: diff_drive, start: [-2, 0, 0], goal_m: [2, 0.5], furniture: []}
environment: {time_limit_s: 12}
"""
EPISODES = 8
LEG_CAUSES = {
    "latency": ("action_delay_ms (high)", "observation_delay_ms (high)"),
    "actuation": ("servo_stiffness_scale (low)", "joint_friction_nm (high)"),
    "contact": ("ground_friction_coefficient (low)",),
    "sensing": ("gyro_bias_mrad_s.x (high)", "encoder_noise_mrad (high)"),
}
WHEEL_CAUSES = {
    "latency": ("action_delay_ms (high)",),
    "actuation": ("wheel_radius_scale.left (low)", "track_scale (high)"),
    "contact": ("wheel_slip_share (high)",),
    "sensing": ("odometry_drift_deg_s (high)", "lidar_noise_share (high)"),
}


class Stepping:
    """A policy for the quadruped that lifts its feet by the clock of the gait."""

    horizon = executed = 1

    def __init__(self) -> None:
        robot = mobile_embodiment(config_of(WALK), width=1, seed=0)
        named = {feature.name: feature for feature in robot.features}
        self.space = Space(robot.robot, robot.rate_hz, (named["observation.command"],), robot.action)
        self.home = robot.rest
        self.phases = np.array([foot.phase for foot in robot.twin.robot.feet])  # type: ignore[attr-defined]

    def chunks(self, observation, *, instructions, real, noise) -> np.ndarray:  # noqa: ARG002
        command = observation["observation.command"].astype(float)
        phase = np.mod(np.arctan2(command[:, 3], command[:, 4])[:, None] / (2 * np.pi) + self.phases, 1)
        lift = np.where(phase > 0.55, np.sin(np.pi * (phase - 0.55) / 0.45), 0.0)
        step = np.stack([0 * lift, 0.3 * lift, -0.6 * lift], axis=2).reshape(len(lift), 12)
        return (self.home + step)[:, None].astype(np.float32)


class Steering:
    """A policy for a robot on wheels that turns to the goal and drives."""

    horizon = executed = 1

    def __init__(self) -> None:
        robot = mobile_embodiment(config_of(DRIVE), width=1, seed=0)
        named = {feature.name: feature for feature in robot.features}
        self.space = Space(robot.robot, robot.rate_hz, (named["observation.goal"],), robot.action)

    def chunks(self, observation, *, instructions, real, noise) -> np.ndarray:  # noqa: ARG002
        distance, cosine, sine = observation["observation.goal"].astype(float).T
        weave = 0.6 * np.sin(3 * distance)
        turn = np.clip(2 * np.arctan2(sine, cosine) + weave, -1.5, 1.5)
        return np.column_stack([np.full(len(distance), 0.5), turn])[:, None].astype(np.float32)


def config_of(text: str) -> MobileConfig:
    config = config_from_text(text, name="mobile.yaml", folder=Path.cwd())
    assert isinstance(config, MobileConfig)
    return config


@dataclass(frozen=True)
class Kind:
    """A kind of robot with its causes."""

    text: str
    policy: type
    named: dict[str, tuple[str, ...]]

    @property
    def causes(self) -> tuple[Cause, ...]:
        causes = {cause.name: cause for cause in causes_in(config_of(self.text))}
        return tuple(causes[name] for names in self.named.values() for name in names)

    def simulate(self, chunk: Chunk, *, seed: int = 3) -> list[CounterfactualCell]:
        job = CounterfactualJob(
            self.text, str(Path.cwd()), self.policy, ActingConfig(), EPISODES, seed, paired=True
        )  # fmt: skip
        ((_, cells),) = simulate_mobile(job, [chunk])
        return cells


KINDS = {"legs": Kind(WALK, Stepping, LEG_CAUSES), "wheels": Kind(DRIVE, Steering, WHEEL_CAUSES)}


@pytest.fixture(scope="module", autouse=True)
def sampler() -> Iterator[None]:
    """The causes are clear, so that shorter chains find them."""
    with short_chains():
        yield


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(scope="module")
def bank(kind: Kind) -> Bank:
    hypotheses = [NOTHING, NOTHING]
    hypotheses += [hypothesis_of([(cause, size)]) for cause in kind.causes for size in sizes_of(cause, 2)]
    cells = kind.simulate(chunk_of(*hypotheses))
    reference = np.concatenate([cell.traits for cell in cells[:2]])
    return Bank(kind.causes, CounterfactualCell(NOTHING, reference), tuple(cells[2:]))


@pytest.mark.parametrize("robot", ["quadruped", "humanoid"])
def test_feet_are_where_the_engine_has_them(robot: str):
    twin = mobile_embodiment(config_of(f"scene: {{robot: {robot}}}"), width=1, seed=0).twin  # type: ignore[attr-defined]
    angles = np.random.default_rng(0).uniform(-0.5, 0.5, (3, twin.joints)) + np.array(twin.robot.home_rad)
    feet, data = LegsModel(twin).feet_m(angles), mujoco.MjData(twin.model)
    for row, joints in enumerate(angles):
        data.qpos[:7] = [0, 0, 0, 1, 0, 0, 0]
        data.qpos[twin.arm_qpos] = joints
        mujoco.mj_kinematics(twin.model, data)
        np.testing.assert_allclose(feet[row], data.site_xpos[twin.foot_sites], atol=1e-9)


def test_a_cell_has_the_same_traits_alone_and_beside_others(kind: Kind, bank: Bank):
    for cell in (bank.cells[0], bank.cells[-1]):
        (alone,) = kind.simulate(Chunk((0,), (cell.hypothesis,)))
        np.testing.assert_array_equal(alone.traits, cell.traits)


def test_every_cause_of_the_test_has_an_effect(bank: Bank):
    for cell in bank.cells:
        assert not np.array_equal(cell.traits, bank.paired(cell), equal_nan=True), cell.hypothesis.sizes


def level(cell: CounterfactualCell, trait: str) -> float:
    return float(np.nanmedian(cell.traits[:, [trait_.name for trait_ in TRAITS].index(trait)]))


@pytest.mark.parametrize(
    ("robot", "row", "value", "trait", "change"),
    [
        ("legs", "gyro_bias_mrad_s.x (high)", 20.0, "roll_rate", 20.0),
        ("legs", "action_delay_ms (high)", 40.0, "joint_delay", 40.0),
        ("legs", "observation_loss_share (high)", 0.1, "repeated_frames", 10.0),
        ("wheels", "odometry_drift_deg_s (high)", 0.4, "heading_drift", 0.4),
        ("wheels", "lidar_yaw_deg (high)", 4.0, "lidar_turn", -4.0),
        ("wheels", "lidar_dropout_share (high)", 0.1, "lidar_lost", 0.1),
    ],
)
def test_a_trait_measures_its_row(robot: str, row: str, value: float, trait: str, change: float):
    kind = KINDS[robot]
    cause = next(cause for cause in causes_in(config_of(kind.text)) if cause.name == row)
    size = value / cause.value(1.0)
    usual, changed = kind.simulate(chunk_of(NOTHING, hypothesis_of([(cause, size)])))
    assert level(changed, trait) - level(usual, trait) == pytest.approx(change, rel=0.25)


def test_the_open_gap_is_told_from_the_others(kind: Kind, bank: Bank):
    emulator = emulator_of(bank)
    # Few wheels suffice here: benchmarks/mobile_diagnosis.py has many cells.
    for gap, names in list(kind.named.items())[0 if kind is KINDS["legs"] else 2 :]:
        cause = next(cause for cause in kind.causes if cause.name == names[0])
        (robot,) = kind.simulate(chunk_of(hypothesis_of([(cause, 1.3)])), seed=11)
        sizes = diagnose_traits(robot.traits, emulator, seed=0, tolerance=MOBILE_TOLERANCE).explanations.sizes
        differs = {
            name: (sizes[:, [place for place, item in enumerate(emulator.gaps) if item == name]] > 0).any(axis=1).mean()
            for name in GAPS if name in emulator.gaps
        }  # fmt: skip
        assert max(differs, key=lambda name: differs[name]) == gap, differs


def test_an_unchanged_robot_has_no_open_gap(kind: Kind, bank: Bank):
    (robot,) = kind.simulate(chunk_of(Hypothesis(None, 0.0, {}, {})), seed=12)
    sizes = diagnose_traits(robot.traits, emulator_of(bank), seed=0, tolerance=MOBILE_TOLERANCE).explanations.sizes
    assert (sizes > 0).any(axis=1).mean() < 0.5


def test_small_errors_of_all_rows_are_as_large_as_simulated_ones(kind: Kind, bank: Bank):
    """Root mean square over all sides of all rows, which are wrong at once and add up."""
    emulator = emulator_of(bank)
    one, two = small_errors(emulator, 0.1), small_errors(emulator, 0.2)
    assert np.allclose(two, 2 * one)
    rows = {(cause.row, cause.element) for cause in kind.causes}
    changes = np.nan_to_num(np.abs(np.diff(emulator.changes[:, :5], axis=1)) / emulator.sizes[:, 1:2, None])
    largest = changes.max(axis=(0, 1))
    # The slope at size 0 of a curve is uncertain by half of a difference of slopes.
    assert (one <= 0.1 * np.sqrt(2 * len(rows) / 3) * largest + 1e-12).all()
    assert (one[np.abs(emulator.changes[:, 1]).max(axis=0) > 0] > 0).all()
