"""Measure what reinforcement learning costs beside the physics.

In one process on one machine, alternating:
- limit: `mujoco.batch` alone, with the same model, substeps, randomized fields and initial states. It carries out the
  commands that the environments carried out, for the same number of control periods, and starts again as often.
- environments: `tl.make_env(...)` with the default terms: sensors, rewards, ends of episodes, resets into fresh draws,
  and the observations of policy and critic.
- PPO: whole iterations, with the share of the simulation in them.

MuJoCo's profiler is off for both, as Twinloop runs it. `cpu_ratio` compares CPU time and holds on a busy machine;
`ratio` compares wall time and needs an idle one.

    python benchmarks/rl.py [--envs 256] [--periods 200] [--rounds 3] [--threads 2] [--json]
"""

import argparse
import json
import os
import statistics
import time
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch

from twinloop.environments.arm import ArmEmbodiment
from twinloop.environments.make import vector_env
from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.run.default import embedded_config
from twinloop.run.environment import EnvironmentConfig

SEED = 5
SWING = 0.3
"""Size of the random actions: the arm wanders about its home and touches things now and then."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--periods", type=int, default=200, help="control periods of an episode")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--iterations", type=int, default=3, help="of PPO")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    result = compare(args) | iterations(args)
    print(json.dumps(result) if args.json else "\n".join(f"{key:30} {value}" for key, value in result.items()))


def environments(args: argparse.Namespace, width: int) -> VectorTwinEnv:
    config = embedded_config()
    limit_s = args.periods / config.rollout.control_hz
    config = replace(config, environment=EnvironmentConfig(time_limit_s=limit_s))
    return vector_env(config, num_envs=width, seed=SEED, threads=args.threads)


class Limit:
    """The engine alone, in the states and with the commands of the environments."""

    def __init__(self, env: VectorTwinEnv, *, threads: int):
        robot = env.robot
        assert isinstance(robot, ArmEmbodiment)
        self.twin, cell = robot.twin, robot.cell
        self.batch = Batch(self.twin.model, env.num_envs, threads, persistent=True)
        for field, values in cell._fields.items():
            self.batch.expand(field)[:] = values
        self.start = {name: cell.engine.bind(name).copy() for name in ("qpos", "qvel", "mocap_pos", "mocap_quat")}
        self.bound = {name: self.batch.bind(name) for name in (*self.start, "ctrl")}
        self.batch.set_const(np.arange(env.num_envs))

    def run(self, controls: list[np.ndarray]) -> None:
        every = np.arange(len(controls[0]))
        self.batch.reset(every, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        for name, values in self.start.items():
            self.bound[name][:] = values
        self.batch.forward(every)
        for control in controls:
            self.bound["ctrl"][:] = control
            self.batch.step(None, nstep=self.twin.substeps, stage=mujoco.mjtStage.mjSTAGE_VEL.value)


def compare(args: argparse.Namespace) -> dict[str, Any]:
    env = environments(args, args.envs)
    robot = env.robot
    assert isinstance(robot, ArmEmbodiment)
    actions = np.random.default_rng(SEED).uniform(-SWING, SWING, (args.periods, *env.commands.shape))
    env.reset(seed=SEED)
    limit, controls = Limit(env, threads=args.threads), []
    for action in actions:  # also warms up
        env.step(action)
        controls.append(robot.cell.engine.bind("ctrl").copy())
    steps, rounds = args.envs * args.periods, []
    for _ in range(args.rounds):
        raw_s, raw_cpu_s = timed(lambda: limit.run(controls))
        env_s, env_cpu_s = timed(lambda: [env.step(action) for action in actions])
        rounds.append({
            "limit": steps / raw_s, "environments": steps / env_s, "ratio": raw_s / env_s,
            "cpu_ratio": raw_cpu_s / env_cpu_s, "cpu_us_per_step": 1e6 * env_cpu_s / steps,
        })  # fmt: skip
    middle = {name: round(statistics.median(one[name] for one in rounds), 3) for name in rounds[0]}
    spread = [round(one["cpu_ratio"], 3) for one in rounds]
    return middle | {
        "unit": "control periods of all environments a second", "cpu_ratios": spread, "envs": args.envs,
        "threads": args.threads, "substeps": robot.twin.substeps, "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def iterations(args: argparse.Namespace) -> dict[str, Any]:
    """Time of whole PPO iterations with default settings."""
    import torch

    from twinloop.learn.reinforce.config import ReinforceConfig
    from twinloop.learn.reinforce.fresh_policy import fresh_policy
    from twinloop.learn.reinforce.ppo import PpoTraining

    torch.set_num_threads(args.threads)
    config = ReinforceConfig(seed=SEED)
    env = environments(args, config.num_envs)
    policy = fresh_policy(env, width=config.width, depth=config.depth, bound="clip", seed=SEED)
    training = PpoTraining(env, policy, config, started=False)
    training.iterate()
    walls, cpus, updates = [], [], []
    for _ in range(args.iterations):
        update = training.algorithm.update
        spent: list[float] = []

        def measured(update: Any = update, spent: list[float] = spent) -> Any:
            began = time.process_time()
            losses = update()
            spent.append(time.process_time() - began)
            return losses

        training.algorithm.update = measured  # type: ignore[method-assign]
        wall_s, cpu_s = timed(training.iterate)
        training.algorithm.update = update  # type: ignore[method-assign]
        walls.append(wall_s)
        cpus.append(cpu_s)
        updates.append(spent[0])
    return {
        "ppo_periods": config.num_envs * config.steps, "ppo_iteration_s": round(statistics.median(walls), 2),
        "ppo_iteration_cpu_s": round(statistics.median(cpus), 2),
        "ppo_update_cpu_share": round(statistics.median(u / c for u, c in zip(updates, cpus, strict=True)), 2),
    }  # fmt: skip


def timed(function: Any) -> tuple[float, float]:
    """Wall and CPU seconds of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
