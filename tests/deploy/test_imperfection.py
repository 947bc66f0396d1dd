"""Human-like imperfections: seeded, within their bands, and absent at zero."""

from collections.abc import Callable

import numpy as np
import pytest

from twinloop.deploy.demonstrator import Demonstrator, Move, demonstrate
from twinloop.deploy.imperfection import ImperfectHand, ImperfectionConfig
from twinloop.deploy.twin_robot import TwinRobot
from twinloop.randomize.draw import episode_rng
from twinloop.simulate.expert import ExpertConfig

SCRIPT = ExpertConfig(action_noise_rad=0.0)
NONE = ImperfectionConfig(
    reaction_s=0, tremor_rad=0, drift_rad=0, undershoot=(0, 0), sideways=0, smooth_s=0, speed_spread=0,
    hesitations_per_s=0, regrasp=0,
)  # fmt: skip


@pytest.fixture(scope="module")
def demonstrated():
    """(imperfection, seed, episode) -> the moves of a demonstration on the twin, and whether it succeeded."""
    with TwinRobot() as robot:

        def show(
            imperfection: ImperfectionConfig | None, *, seed: int = 0, episode: int = 0
        ) -> tuple[list[Move], bool]:
            demonstrator = Demonstrator(robot.describe(), SCRIPT, seed=seed, imperfection=imperfection)
            demonstrator.begin(robot.begin(episode), episode)
            moves = []
            while True:
                moves.append(demonstrator.act(robot.observe()))
                if moves[-1].over:
                    return moves, bool(robot.end().success)
                robot.act(moves[-1].command)

        yield show


Show = Callable[..., tuple[list[Move], bool]]


def commands(moves: list[Move]) -> np.ndarray:
    return np.array([move.command for move in moves])


def test_the_same_seed_is_the_same_demonstration_and_another_is_another(demonstrated: Show):
    one, again, other = (commands(demonstrated(ImperfectionConfig(), seed=seed)[0]) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert len(one) != len(other) or not np.array_equal(one, other)


def test_a_human_without_imperfections_is_the_script(demonstrated: Show):
    script, perfect = (commands(demonstrated(imperfection, episode=3)[0]) for imperfection in (None, NONE))
    np.testing.assert_array_equal(script, perfect)


def test_people_succeed_take_longer_and_not_the_same_time_twice(demonstrated: Show):
    script = len(demonstrated(None)[0])
    people = [demonstrated(ImperfectionConfig(), seed=seed, episode=seed) for seed in range(6)]
    assert all(success for _, success in people)
    lengths = [len(moves) for moves, _ in people]
    assert min(lengths) > script
    assert len(set(lengths)) > 3
    # The motion of the hand is recorded, as in teleoperation.
    for moves, _ in people:
        np.testing.assert_array_equal(commands(moves), [move.action for move in moves])


def test_fingers_open_once_more_before_they_lift(demonstrated: Show):
    moves, success = demonstrated(ImperfectionConfig(regrasp=1.0))
    closed = np.array([move.command[-1] for move in moves]) < 0.02
    assert success
    assert np.count_nonzero(np.diff(closed.astype(int)) == 1) == 2  # closed twice
    plain, _ = demonstrated(ImperfectionConfig(regrasp=0.0))
    closed = np.array([move.command[-1] for move in plain]) < 0.02
    assert np.count_nonzero(np.diff(closed.astype(int)) == 1) == 1


def test_hesitations_are_stops_on_the_way(demonstrated: Show):
    often, _ = demonstrated(ImperfectionConfig(hesitations_per_s=1.0))
    never, _ = demonstrated(ImperfectionConfig(hesitations_per_s=0.0))
    assert len(often) > len(never) + 5


def hand(config: ImperfectionConfig, *, period_s: float = 0.02, episode: int = 0) -> ImperfectHand:
    return ImperfectHand(config, joints=7, period_s=period_s, rng=episode_rng(0, episode, stream="test"))


def test_tremor_is_in_its_band_and_of_its_size():
    config = ImperfectionConfig(drift_rad=0.0, tremor_rad=0.001)
    shaking = hand(config)
    signal = np.array([shaking.shaken(np.zeros(7)) for _ in range(1000)])
    assert signal.std() == pytest.approx(0.001, rel=0.25)
    power, hertz = np.abs(np.fft.rfft(signal, axis=0)) ** 2, np.fft.rfftfreq(1000, 0.02)
    within = power[(hertz > 7.5) & (hertz < 12.5)].sum() / power.sum()
    assert within > 0.95


def test_a_rate_that_cannot_show_a_tremor_has_none():
    still = hand(ImperfectionConfig(drift_rad=0.0), period_s=0.1)
    assert np.abs([still.shaken(np.zeros(7)) for _ in range(50)]).max() == 0


def test_first_movements_fall_short_and_never_aim_at_another_height():
    way = np.array([0.3, 0.1, -0.4])
    missed = np.array([hand(ImperfectionConfig(), episode=episode).aim(way) for episode in range(200)])
    along = missed @ way / np.linalg.norm(way[:2]) ** 2
    assert (along < 0).all()
    assert -0.1 <= along.min() < along.max() <= -0.02
    assert (missed[:, 2] == 0).all()


def test_reactions_are_about_as_long_as_people_take():
    people = [hand(ImperfectionConfig(), period_s=0.01, episode=episode) for episode in range(300)]
    reactions_s = [0.01 * participant.reaction() for participant in people]
    assert np.median(reactions_s) == pytest.approx(0.23, abs=0.02)
    assert min(reactions_s) > 0.1


def test_a_demonstration_through_any_robot_is_one_call(nominal):
    done = demonstrate(nominal, Demonstrator(nominal.describe(), seed=0, imperfection=ImperfectionConfig()), 1)
    assert done.outcome.success
