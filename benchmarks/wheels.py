"""Wheels: success and collisions of the scripted expert and of trained policies in rooms that they have not seen.

    python benchmarks/wheels.py --out policies/wheels                  # imitate, PPO, evaluate: one command
    python benchmarks/wheels.py --expert                               # the scripted expert only
    python benchmarks/wheels.py --checkpoint policies/wheels/tuned     # evaluate only
    python benchmarks/wheels.py --checkpoint policies/wheels/tuned --json results.json

Training uses seeds 1 (imitation) and 2 (PPO). `--seed` is that of the evaluation: use another one while working on the
recipe, and the default once, for the figure. Intervals are Wilson's, at 95 %.
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
from twinloop.environments.make import mobile_embodiment
from twinloop.environments.mobile_rollout import MobileEpisodes, expert_act, mobile_rollout
from twinloop.gate.mobile_rollouts import policy_act
from twinloop.learn.candidate import candidate_of
from twinloop.learn.checkpoint import load
from twinloop.learn.reinforce.recipes import navigation_config, navigation_imitation_config
from twinloop.learn.reinforce.start import reinforce
from twinloop.run.wheels import WheelsConfig

EXAMPLE = Path(__file__).parents[1] / "examples" / "diff_drive.yaml"
FIGURE_SEED = 2_000_000
WIDTH = 64


def trained(config: WheelsConfig, out: Path, *, imitation: int, ppo: int) -> tuple[Path, dict[str, float]]:
    """Train the recipe, or continue it. Return the checkpoint and CPU minutes of each part."""
    minutes, begin = {}, time.process_time()
    clone = replace(navigation_imitation_config(), iterations=imitation, seed=1)
    reinforce(config, out / "cloned", clone, on_iteration=_show, threads=1)
    minutes["imitation"] = round((time.process_time() - begin) / 60, 2)
    if not ppo:
        return out / "cloned", minutes
    begin = time.process_time()
    settings = replace(navigation_config(), iterations=ppo, seed=2)
    reinforce(config, out / "tuned", settings, parent=load(out / "cloned"), on_iteration=_show, threads=1)
    minutes["ppo"] = round((time.process_time() - begin) / 60, 2)
    return out / "tuned", minutes


def _show(record) -> None:
    if record.iteration % 10 == 0:
        print(
            f"iteration {record.iteration}: reward {record.reward:+.4f}, success {record.success}, {record.reasons}, "
            f"{record.figures}", flush=True,
        )  # fmt: skip


def driven(config: WheelsConfig, checkpoint: Path | None, *, seed: int, episodes: int) -> dict:
    """Success, collisions and names of failures over episodes 0, 1, ... of a seed. Without a checkpoint: the expert."""
    robot = mobile_embodiment(config, width=min(WIDTH, episodes), seed=seed)
    act = expert_act(robot) if checkpoint is None else policy_act(robot, candidate_of(checkpoint).load())
    begin = time.process_time()
    parts = [mobile_rollout(robot, act, first) for first in range(0, episodes, robot.width)]
    return _figures(parts, episodes, robot.rate_hz) | {"cpu_s": round(time.process_time() - begin, 1)}


def _figures(parts: list[MobileEpisodes], episodes: int, rate_hz: float) -> dict:
    success, failure, lengths, simulated = (
        np.concatenate([getattr(part, name) for part in parts])[:episodes]
        for name in ("success", "failure", "lengths", "simulated")
    )
    success, failure, lengths = success[simulated], failure[simulated], lengths[simulated]
    checks = {
        name: round(float(np.concatenate([part.checks[name] for part in parts])[:episodes][simulated].mean()), 3)
        for name in parts[0].checks
    }
    names, counts = np.unique(failure[failure != ""].astype(str), return_counts=True)
    rates = {}
    for name, hits in (("success", success), ("collisions", failure == "collided")):
        rate = Rate(int(hits.sum()), len(hits))
        rates[name] = {"rate": rate.value, "low": rate.interval[0], "high": rate.interval[1]}
    return {
        "episodes": len(success), "rooms_without_path": int((~simulated).sum()), **rates,
        "seconds": round(float(lengths[success].mean() / rate_hz), 2) if success.any() else None,
        "failures": dict(zip(names.tolist(), counts.tolist(), strict=True)), **checks,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=EXAMPLE)
    parser.add_argument("--out", type=Path, default=Path("policies/wheels"), help="folder of the policies")
    parser.add_argument("--checkpoint", type=Path, help="evaluate this policy instead of training one")
    parser.add_argument("--expert", action="store_true", help="evaluate the scripted expert only")
    parser.add_argument("--imitation", type=int, default=navigation_imitation_config().iterations, help="iterations")
    parser.add_argument(
        "--ppo", type=int, default=navigation_config().iterations, help="iterations; 0 for a clone only"
    )
    parser.add_argument("--seed", type=int, default=FIGURE_SEED, help="of the evaluation")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    args = parser.parse_args()
    torch.set_num_threads(1)
    config = tl.load_config(args.config)
    assert isinstance(config, WheelsConfig)
    results: dict = {"seed": args.seed}
    if args.expert:
        results["expert"] = driven(config, None, seed=args.seed, episodes=args.episodes)
    else:
        checkpoint, minutes = args.checkpoint, {}
        if checkpoint is None:
            checkpoint, minutes = trained(config, args.out, imitation=args.imitation, ppo=args.ppo)
        results |= {"checkpoint": load(checkpoint).card.digest, "cpu_minutes": minutes}
        if args.episodes:
            results["policy"] = driven(config, checkpoint, seed=args.seed, episodes=args.episodes)
    print(json.dumps(results, indent=2))
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
