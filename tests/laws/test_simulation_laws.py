"""Laws of simulation: an episode depends on its draw alone. `tests/faults` covers diverged ones."""

import numpy as np

from tests.conftest import SEED_RANGES, Simulate
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.draw import Draws, Sampler
from twinloop.randomize.parameter import Parameter
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.twin import Twin


def test_the_tape_is_the_same_at_any_width_and_in_any_slot(simulate: Simulate, few: Episodes):
    for width in (1, 5, 16):
        again = simulate(12, width=width)
        np.testing.assert_array_equal(again.lengths, few.lengths)
        np.testing.assert_array_equal(again.tape, few.tape)


def test_the_tape_is_the_same_at_any_number_of_threads(twin: Twin, few: Episodes):
    draws = Sampler(SEED_RANGES, seed=0).draw(0, 12)
    for threads in (2, 7):
        expert = Expert(twin, ExpertConfig(), width=12, seed=0)
        (again,) = rollout(Cell(twin, width=12, threads=threads), iter([draws]), expert, seed=0)
        np.testing.assert_array_equal(again.tape, few.tape)


def test_the_tape_does_not_depend_on_the_rows_that_other_blocks_vary(twin: Twin):
    """Blocks that vary different rows share a cell. Each begins while episodes of the one before are running."""
    rows = [row for row in TABLE if row.on_command is not None and "arm" in row.robots]
    able = assemble(twin.robot, twin.task, twin.object, features=Features(longest_delay_s=0.1))
    starts: dict[str, Distribution] = {"object_position_noise_cm": Uniform(-3, 3)}
    odd, even = ({row.name: Constant(row.sensible[1]) for row in rows[first::2]} for first in (1, 0))
    ranges = [starts, starts | odd, starts | even, starts]
    blocks = [Sampler(ranges, seed=0).draw(2 * number, 2 * number + 2) for number, ranges in enumerate(ranges)]

    def tapes(blocks: list[Draws], width: int) -> dict[int, Episodes]:
        expert = Expert(able, ExpertConfig(), width=width, seed=0)
        done = rollout(Cell(able, width=width), iter(blocks), expert, seed=0)
        return {int(episodes.draws.attempts[0]): episodes for episodes in done}

    together = tapes(blocks, width=3)
    for block in blocks:
        ((first, alone),) = tapes([block], width=2).items()
        np.testing.assert_array_equal(together[first].lengths, alone.lengths)
        np.testing.assert_array_equal(together[first].tape, alone.tape)


def test_a_slot_used_again_does_not_drift(twin: Twin):
    """Every row of the table applied over and over gives the same model, with mass and inertia in proportion."""
    rows = [row for row in TABLE if not row.pool and "soft" not in row.only_with and "arm" in row.robots]
    ranges = {row.name: Uniform(*row.sensible) for row in rows}
    draws = Sampler(ranges, seed=0).draw(0, 4)
    able = assemble(
        twin.robot, twin.task, twin.object,
        features=Features(rolling_friction=True, off_centre_mass=True, longest_delay_s=0.1, shapes=True,
                          two_materials=True, soft_pads=True),
    )  # fmt: skip
    cell = Cell(able, width=4)
    ids = np.arange(4)
    cell.admit(ids, draws, ids)
    assert not cell.failed.any()
    fields = (
        "body_mass", "body_inertia", "geom_size", "geom_solref", "actuator_biasprm", "opt.gravity", "body_pos",
        "body_iquat", "body_ipos", "geom_type", "geom_pos", "geom_friction", "geom_margin", "opt.impratio",
    )  # fmt: skip
    first = {field: cell[field].copy() for field in fields}
    for _ in range(3):
        cell.admit(ids, draws, ids[::-1].copy())
        cell.admit(ids, draws, ids)
    for field in fields:
        np.testing.assert_array_equal(cell[field], first[field])


def test_inertia_and_constants_follow_the_mass(twin: Twin):
    draws = Sampler({"object_mass_kg": Uniform(0.05, 0.4), "object_size_scale": Uniform(0.9, 1.1)}, seed=0).draw(0, 3)
    cell = Cell(twin, width=3)
    cell.admit(np.arange(3), draws, np.arange(3))
    body, mass, scale = twin.object_body, draws.values["object_mass_kg"], draws.values["object_size_scale"]
    half = 0.02 * scale
    np.testing.assert_allclose(cell["body_inertia"][:, body, 0], mass * (2 * half) ** 2 / 6, rtol=1e-9)
    # A free body's inverse weight is 1 / mass: the engine recomputed it from the mass it was given.
    inverse = cell.batch.expanded("body_invweight0")
    np.testing.assert_allclose(inverse[:, body, 0], 1 / mass, rtol=1e-6)


def test_an_off_centre_mass_is_where_it_was_put(twin: Twin):
    able = assemble(twin.robot, twin.task, twin.object, features=Features(off_centre_mass=True))
    cell = Cell(able, width=1)
    where = cell.batch.bind("xipos")
    draws = Sampler({"object_com_offset_mm": Constant(3.0)}, seed=0).draw(0, 1)
    cell.admit(np.array([0]), draws, np.array([0]))
    np.testing.assert_allclose(where[0, able.object_body] - cell.position("object")[0], 0.003, atol=1e-9)


def test_every_physical_row_changes_the_physics(twin: Twin):
    """Every physical row changes some trajectory. The episodes are simulated at once; each differs in one row."""
    able = assemble(
        twin.robot, twin.task, twin.object,
        features=Features(rolling_friction=True, off_centre_mass=True, shapes=True, two_materials=True,
                          soft_pads=True),
    )  # fmt: skip
    # Rows of soft things and of pools of products need other scenes; tests of those tasks vary them.
    rows = [
        row
        for row in TABLE
        if row.group == "physics" and "arm" in row.robots and {"soft", "products"}.isdisjoint(row.only_with)
    ]
    draws = joined(
        [
            Sampler({row.name: Constant(bound), **needed(row)}, seed=0).draw(0, 1)
            for row in rows
            for bound in row.sensible
        ]
    )
    width = 2 * len(rows)
    expert = Expert(able, ExpertConfig(action_noise_rad=0.0), width=width, seed=0)
    (episodes,) = rollout(Cell(able, width=width), iter([draws]), expert, seed=0)
    tapes = np.split(episodes.tape, np.cumsum(episodes.lengths)[:-1])
    for number, row in enumerate(rows):
        low, high = 2 * number, 2 * number + 1
        assert episodes.success[low], row.name
        assert episodes.success[high], row.name
        assert not np.array_equal(tapes[low], tapes[high]), row.name


def needed(row: Parameter) -> dict[str, Distribution]:
    """The rows that must vary too, so that this row has an effect."""
    if row.name == "solver_iterations":  # six steps suffice for easy contacts, so its whole range gives the same
        return {"solver_impratio": Constant(10.0)}
    return {row.needs: Constant(BY_NAME[row.needs].sensible[1])} if row.needs else {}


def joined(parts: list[Draws]) -> Draws:
    """The episodes of several draws, to be simulated at once."""
    return Draws(
        np.concatenate([part.attempts for part in parts]),
        {column: np.concatenate([part.values[column] for part in parts]) for column in parts[0].values},
        tuple(dict.fromkeys(column for part in parts for column in part.varied)),
    )
