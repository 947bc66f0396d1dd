"""Legs: train a quadruped by imitation and PPO, evaluate it on unseen seeds, and rehearse it in Drake.

    python benchmarks/rl_legs.py --out policies/legs                   # imitate, PPO, evaluate: one command
    python benchmarks/rl_legs.py --checkpoint policies/legs/walk       # evaluate only
    python benchmarks/rl_legs.py --checkpoint policies/legs/walk --drake 24 --json results.json
    python benchmarks/rl_legs.py --nominal --out policies/nominal      # the same without randomization in training
    python benchmarks/rl_legs.py --config examples/quadruped_steps.yaml --out policies/steps   # rough ground and steps
    python benchmarks/rl_legs.py --config examples/quadruped_rough.yaml --checkpoint policies/steps/walk --drake 24

A policy for other ground is first trained on flat ground for `FLAT_ITERATIONS`, then level by level, then on all of it.

Training uses seeds 1 (imitation) and 2 (PPO). Run the same command again to continue a training that was stopped.
`--seed` is that of the evaluation: use another one while working on the recipe, and the default once, for the figure.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import twinloop as tl
from twinloop.curate.rates import Rate
from twinloop.environments.legs import LegsEmbodiment
from twinloop.environments.mobile_rollout import MobileEpisodes, mobile_rollout
from twinloop.gate.mobile_rollouts import policy_act
from twinloop.learn.candidate import candidate_of
from twinloop.learn.checkpoint import load
from twinloop.learn.reinforce.config import Algorithm, ReinforceConfig
from twinloop.learn.reinforce.recipes import recipe, terrain_config, terrain_refining_config
from twinloop.learn.reinforce.start import reinforce
from twinloop.run.environment import EnvironmentConfig
from twinloop.run.walk import WalkConfig
from twinloop.twin.legs.terrain import KINDS

EXAMPLE = Path(__file__).parents[1] / "examples" / "quadruped.yaml"
FIGURE_SEED = 3_000_000
FLAT_ITERATIONS = 170
"""Iterations of PPO on flat ground before a training on other ground."""
WIDTH = 32


def trained(
    config: WalkConfig, out: Path, parent: Path | None, *, imitation: int | None, ppo: int | None
) -> tuple[Path, dict[str, float]]:
    """Train the recipe, or its second part from a policy. Return the checkpoint and CPU minutes of each part."""
    minutes = {}
    if parent is None and config.scene.terrain != "flat":
        return _trained_on_terrain(config, out, imitation=imitation, ppo=ppo)
    begin = time.process_time()
    if parent is None:
        parent = out / "cloned"
        reinforce(config, parent, _settings(config, "imitate", imitation, seed=1), threads=1)
        minutes["imitation"] = (time.process_time() - begin) / 60
    if ppo == 0:
        return parent, minutes
    begin = time.process_time()
    settings = _settings(config, "ppo", ppo, seed=2)
    reinforce(config, out / "walk", settings, parent=load(parent), on_iteration=_show, threads=1)
    minutes["ppo"] = (time.process_time() - begin) / 60
    return out / "walk", minutes


def _trained_on_terrain(
    config: WalkConfig, out: Path, *, imitation: int | None, ppo: int | None
) -> tuple[Path, dict[str, float]]:
    """Train on flat ground, then on the config's ground level by level, then on all its levels with less noise."""
    flat = tl.load_config(EXAMPLE)
    assert isinstance(flat, WalkConfig)
    parent, minutes = trained(flat, out / "flat", None, imitation=imitation, ppo=FLAT_ITERATIONS)
    minutes = {f"flat_{part}": value for part, value in minutes.items()}
    begin, environment = time.process_time(), config.environment or EnvironmentConfig()
    rewards = {name: weight for name, weight in environment.rewards.items() if name != "trunk_clearance"}
    rising = replace(config, environment=replace(environment, rewards=rewards, curriculum={"by_success": 0.2}))
    reinforce(
        rising, out / "rising", replace(terrain_config(), seed=2), parent=load(parent), on_iteration=_show, threads=1
    )
    minutes["rising"] = (time.process_time() - begin) / 60
    begin, settings = time.process_time(), replace(terrain_refining_config(), seed=2)
    settings = replace(settings, iterations=settings.iterations if ppo is None else ppo)
    reinforce(config, out / "walk", settings, parent=load(out / "rising"), on_iteration=_show, threads=1)
    minutes["ppo"] = (time.process_time() - begin) / 60
    return out / "walk", minutes


def _settings(config: WalkConfig, algorithm: Algorithm, iterations: int | None, *, seed: int) -> ReinforceConfig:
    """The recipe for a robot and its ground, with another number of iterations if one is given."""
    settings = recipe(config, algorithm, improves=algorithm == "ppo")
    return replace(settings, seed=seed, iterations=settings.iterations if iterations is None else iterations)


def _show(record) -> None:
    if record.iteration % 20 == 0:
        print(f"iteration {record.iteration}: reward {record.reward:+.4f}, success {record.success}", flush=True)


def walked(config: WalkConfig, checkpoint: Path, *, seed: int, episodes: int, drake: bool) -> dict:
    """Success, velocity errors and names of failures over episodes 0, 1, ... of a seed."""
    physics = None
    if drake:
        from twinloop.deploy.rehearsal.drake_walk import DrakeWalkEngine

        physics = lambda twin, width: DrakeWalkEngine(twin, width=width)  # noqa: E731
    width = min(WIDTH, episodes) if not drake else 1
    robot = LegsEmbodiment(config, width=width, seed=seed, physics=physics)
    act = policy_act(robot, candidate_of(checkpoint).load())
    begin = time.process_time()
    parts = [mobile_rollout(robot, act, first) for first in range(0, episodes, width)]
    return _figures(parts, episodes) | {"cpu_s": round(time.process_time() - begin, 1)}


def _figures(parts: list[MobileEpisodes], episodes: int) -> dict:
    success, failure = (
        np.concatenate([getattr(part, name) for part in parts])[:episodes] for name in ("success", "failure")
    )
    error, turn = (
        np.concatenate([part.checks[name] for part in parts])[:episodes]
        for name in ("velocity_error_m_s", "turn_error_rad_s")
    )
    rate = Rate(int(success.sum()), len(success))
    names, counts = np.unique(failure[failure != ""].astype(str), return_counts=True)
    return {
        "episodes": len(success), "success": rate.value, "low": rate.interval[0], "high": rate.interval[1],
        "velocity_error_m_s": round(float(error.mean()), 4), "turn_error_rad_s": round(float(turn.mean()), 4),
        "failures": dict(zip(names.tolist(), counts.tolist(), strict=True)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=EXAMPLE)
    parser.add_argument("--out", type=Path, default=Path("policies/legs"), help="folder of the policies")
    parser.add_argument("--checkpoint", type=Path, help="evaluate this policy instead of training one")
    parser.add_argument("--from", dest="parent", type=Path, help="improve this policy instead of a new clone")
    parser.add_argument("--imitation", type=int, help="iterations (default: those of the recipe)")
    parser.add_argument("--ppo", type=int, help="iterations; 0 for a clone only (default: those of the recipe)")
    parser.add_argument("--nominal", action="store_true", help="train without randomization")
    parser.add_argument("--terrain", choices=tuple(KINDS), help="evaluate on this ground instead of the config's")
    parser.add_argument("--seed", type=int, default=FIGURE_SEED, help="of the evaluation")
    parser.add_argument("--episodes", type=int, default=320)
    parser.add_argument("--drake", type=int, default=0, metavar="N", help="episodes of the rehearsal in Drake")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    args = parser.parse_args()
    torch.set_num_threads(1)
    config = tl.load_config(args.config)
    assert isinstance(config, WalkConfig)
    checkpoint, minutes = args.checkpoint, {}
    if checkpoint is None:
        training = config.without_randomization() if args.nominal else config
        checkpoint, minutes = trained(training, args.out, args.parent, imitation=args.imitation, ppo=args.ppo)
    if args.terrain:
        config = replace(config, scene=replace(config.scene, terrain=args.terrain))
    results: dict = {"checkpoint": load(checkpoint).card.digest, "seed": args.seed, "cpu_minutes": minutes}
    if args.episodes:
        results["twin"] = walked(config, checkpoint, seed=args.seed, episodes=args.episodes, drake=False)
    if args.drake:
        results["drake"] = walked(config, checkpoint, seed=args.seed, episodes=args.drake, drake=True)
    print(json.dumps(results, indent=2))
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
