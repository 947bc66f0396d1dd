"""Logs in the schema of runlogs, made by the bench of a config with hidden values of its drive."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from twinloop.calibrate.bench import Bench, at_logged_rate
from twinloop.calibrate.config_bench import GRIPPER, STATE, bench_of
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.run.config import RunConfig

RATE_HZ = 25


def commanded(config: RunConfig, *, seconds: float, seed: int) -> Log:
    """Sines and steps of every joint about home, with the gripper open."""
    rng, robot = np.random.default_rng(seed), config.scene.robot
    time_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    joints = len(robot.arm_joints)
    rate, phase = rng.uniform(0.3, 0.9, joints), rng.uniform(0, 6, joints)
    motion = 0.2 * np.sin(2 * np.pi * rate * time_s[:, None] + phase)
    motion += 0.1 * np.sign(np.sin(2 * np.pi * 0.4 * time_s[:, None] + phase))
    goals = np.array(robot.home_rad) + motion * np.minimum(time_s / 0.5, 1)[:, None]
    rows = np.column_stack([goals, np.full(len(time_s), robot.gripper.open)])
    names = (*robot.arm_joints, GRIPPER)
    rest = np.column_stack([np.tile(robot.home_rad, (len(time_s), 1)), rows[:, -1]])
    return Log(f"made_{seed}", time_s, {STATE: rest, "command": rows}, {}, {STATE: names, "command": names}, str(seed))


def made_logs(
    config: RunConfig, hidden: Mapping[str, float], *, count: int = 2, seconds: float = 4.0, noise_rad: float = 2e-4
) -> tuple[Bench, list[Log]]:
    """The bench of a config, and logs of a robot whose drive has the hidden values."""
    plans = [commanded(config, seconds=seconds, seed=seed) for seed in range(count)]
    bench = at_logged_rate(bench_of(config, plans, name="cell.yaml"), plans)
    simulated = BenchSimulator(bench, plans, tuple(hidden)).simulate(np.array([list(hidden.values())]))
    logs = []
    for place, plan in enumerate(plans):
        state = plan.columns[STATE].copy()
        rng = np.random.default_rng(100 + place)
        for number, joint in enumerate(config.scene.robot.arm_joints):
            rows = simulated[joint][0, place, : len(plan), 0]
            state[:, number] = rows + noise_rad * rng.standard_normal(len(rows))
        logs.append(replace(plan, columns={**plan.columns, STATE: state}))
    return bench, logs
