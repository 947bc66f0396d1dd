"""Rollout: simulate episodes in all slots of a cell until the draws run out.

A slot whose episode has ended takes the next one in the same control period, so no episode waits for the slowest. The
result of an episode does not depend on other slots or on their number, so the data are the same at any width.
"""

from collections.abc import Iterator

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.simulate.actor import Actor, SlotActions
from twinloop.simulate.cell import Cell
from twinloop.simulate.drive import Drive
from twinloop.simulate.episodes import Episodes, channels_of
from twinloop.simulate.reach import unreachable_poses


def rollout(
    cell: Cell,
    blocks: Iterator[Draws | None],
    actor: Actor,
    *,
    seed: int,
    dense_reward: bool = False,
    check_reach: bool = False,
) -> Iterator[Episodes]:
    """Simulate every episode of every block. Yield each block when its last episode has ended.

    Args:
        blocks: None stands for a block that comes later; as long as others run, it is asked for in every period.
        check_reach: do not simulate draws that the robot cannot reach (`simulate/reach.py`). They have no frames.
        dense_reward: the reward is the task's progress from 0 to 1; else it is 1 where the task is done.
    """
    return _Rollout(
        cell, blocks, actor, Drive(cell, seed=seed), dense_reward=dense_reward, check_reach=check_reach
    ).run()


class _Block:
    """A block of draws with episodes that have not ended yet."""

    def __init__(self, draws: Draws, unreachable: np.ndarray, channels: int):
        self.draws, self.unreachable = draws, unreachable
        count = len(draws.attempts)
        self.waiting = np.flatnonzero(unreachable == 0)
        self.unfinished = len(self.waiting)
        self.tapes: list[np.ndarray] = [np.empty((0, channels), np.float32)] * count
        self.success, self.lost, self.diverged = (np.zeros(count, bool) for _ in range(3))
        self.retries = np.zeros(count, int)
        self.unmet = np.full(count, -1)


class _Rollout:
    def __init__(
        self,
        cell: Cell,
        blocks: Iterator[Draws | None],
        actor: Actor,
        drive: Drive,
        *,
        dense_reward: bool,
        check_reach: bool,
    ):
        self.cell, self.blocks, self.actor, self.drive = cell, blocks, actor, drive
        self.dense_reward, self.check_reach = dense_reward, check_reach
        self.complete: list[_Block] = []
        self.channels = channels_of(cell.twin)
        width = cell.width
        size = max(part.stop for part in self.channels.values())
        self.tape = np.zeros((width, cell.twin.longest_ticks, size), np.float32)
        self.frame, self.no_outcome = np.zeros((width, size), np.float32), np.zeros((width, 2))
        self.tick = np.zeros(width, int)
        self.active = np.zeros(width, bool)
        self.block: list[_Block | None] = [None] * width
        self.row = np.zeros(width, int)
        self.filling: _Block | None = None

    def run(self) -> Iterator[Episodes]:
        self._refill()
        yield from self._completed()
        while self.active.any():
            # Slots without an episode may hold a diverged state; their results are not used.
            with np.errstate(all="ignore"):
                act = self.actor.act(self.cell)
                success = self.cell.twin.task.succeeded(self.cell)
                reward = self.cell.twin.task.progress(self.cell) if self.dense_reward else success
            self._record_outcome(success, reward)
            over, diverged = self._judge(act)
            if over.any():
                yield from self._retire(np.flatnonzero(over), act, success, diverged)
            self._record(act)
            if self.active.any():
                ids = None if self.active.all() else np.flatnonzero(self.active)
                self.cell.step(ids, self.drive.carry(act.command_rad), act.command_opening)
                self.tick[self.active] += 1
            # New episodes first act in the next period; an idle slot is not stepped and costs nothing.
            self._refill()
            yield from self._completed()

    def _completed(self) -> Iterator[Episodes]:
        """Blocks without any episode to simulate."""
        while self.complete:
            yield self._episodes(self.complete.pop(0))

    def _judge(self, act: SlotActions) -> tuple[np.ndarray, np.ndarray]:
        twin = self.cell.twin
        diverged = self.active & self.cell.diverged(self.tick * twin.control_period_s)
        late = self.tick >= twin.longest_ticks
        return self.active & (act.over | late | diverged), diverged

    def _record_outcome(self, success: np.ndarray, reward: np.ndarray) -> None:
        """Record success and reward in the frame of the command that led to them, which is the previous one."""
        ids = np.flatnonzero(self.active & (self.tick > 0))
        self.tape[ids, self.tick[ids] - 1, self.channels["success"].start] = success[ids]
        self.tape[ids, self.tick[ids] - 1, self.channels["reward"].start] = reward[ids]

    @np.errstate(over="ignore")  # a diverged simulation may exceed single precision; it is recorded as infinite
    def _record(self, act: SlotActions) -> None:
        cell, frame = self.cell, self.frame
        column = 0
        # One column after the other into one buffer: this converts to single precision without a copy.
        for values in (
            cell.arm_position_rad, cell.opening,
            cell.arm_velocity_rad_s, cell.opening_velocity,
            cell.arm_effort_nm, cell.gripper_effort_n,
            cell.environment(),
            act.arm_rad, act.opening,
            act.command_rad, act.command_opening,
            cell.finger_force_n, cell.support_force_n,
            act.phase, self.no_outcome,
            cell.penetration_m, cell.hardest_contact_n, cell.thing_velocities(),
            *((cell.person_force_n,) if cell.twin.has_person else ()),
            *((cell.wrench, cell.inertial) if cell.twin.has_wrist_sensors else ()),
            *((cell.touch_n,) if cell.twin.has_touch else ()),
            *((cell.nodes.reshape(len(self.active), -1),) if "nodes" in self.channels else ()),
        ):  # fmt: skip
            wide = 1 if values.ndim == 1 else values.shape[1]
            frame[:, column : column + wide] = values[:, None] if values.ndim == 1 else values
            column += wide
        ids = np.flatnonzero(self.active)
        self.tape[ids, self.tick[ids]] = frame if len(ids) == len(frame) else frame[ids]

    def _retire(
        self, ids: np.ndarray, act: SlotActions, success: np.ndarray, diverged: np.ndarray
    ) -> Iterator[Episodes]:
        """Remove finished episodes from their slots, and yield each block that is complete."""
        with np.errstate(all="ignore"):
            unmet = self.cell.twin.task.first_unmet(self.cell)
        for slot in ids:
            block = self.block[slot]
            assert block is not None
            row = self.row[slot]
            block.tapes[row] = self.tape[slot, : self.tick[slot]].copy()
            block.success[row] = success[slot] and not diverged[slot]
            block.lost[row] = act.lost[slot]
            block.diverged[row] = diverged[slot]
            block.retries[row] = act.retries[slot]
            block.unmet[row] = unmet[slot]
            block.unfinished -= 1
            self.block[slot] = None
            self.active[slot] = False
            if block.unfinished == 0:
                yield self._episodes(block)

    def _episodes(self, block: _Block) -> Episodes:
        return Episodes(
            draws=block.draws,
            channels=self.channels,
            lengths=np.array([len(tape) for tape in block.tapes]),
            tape=np.concatenate(block.tapes),
            success=block.success,
            lost=block.lost,
            diverged=block.diverged,
            retries=block.retries,
            unmet=block.unmet,
            unreachable=block.unreachable,
        )

    def _refill(self) -> None:
        free = np.flatnonzero(~self.active)
        while len(free):
            if self.filling is None:
                draws = next(self.blocks, None)
                if draws is None:
                    return
                none = np.zeros(len(draws.attempts), int)
                unreachable = unreachable_poses(self.cell.twin, draws) if self.check_reach else none
                self.filling = _Block(draws, unreachable, self.tape.shape[2])
                if not self.filling.unfinished:
                    self.complete.append(self.filling)
                    self.filling = None
                    continue
            block = self.filling
            ids = free[: len(block.waiting)]
            free = free[len(ids) :]
            rows, block.waiting = block.waiting[: len(ids)], block.waiting[len(ids) :]
            if not len(block.waiting):
                self.filling = None
            self.cell.admit(ids, block.draws, rows)
            self.drive.begin(ids, block.draws, rows)
            self.actor.begin(ids, block.draws, rows)
            self.active[ids] = True
            self.tick[ids] = 0
            self.row[ids] = rows
            for slot in ids:
                self.block[slot] = block
