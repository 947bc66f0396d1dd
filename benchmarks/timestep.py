"""Measure what the step of the physics and the integrator change, against a reference of 1 ms.

1. Replay: the commands that the expert gave in the reference are played with every step and integrator, for the same
   draws. Errors are of the joints, of the object's position, and of the force of the fingers. The step of 0.5 ms shows
   how far the reference itself is from convergence.
2. Expert: the expert acts in closed loop. Shares of accepted episodes, and of verdicts that agree with the reference.
3. Policies: `mlp` policies trained on demonstrations of one step, evaluated with their own step and with the reference,
   on a seed that no demonstration used. The policy of the reference is evaluated with every step.

Errors are means over episodes with 95 % bootstrap intervals. Rates have 95 % Wilson intervals.

    python benchmarks/timestep.py [FILE] [--episodes 128] [--trials 128] [--only settings] [--json]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import numpy as np

from twinloop.curate.intervals import wilson
from twinloop.curate.judge import judge
from twinloop.randomize.draw import Draws
from twinloop.run.config import RunConfig, load_config
from twinloop.run.default import embedded_config
from twinloop.run.twin import twin_of
from twinloop.simulate.actor import Actor, SlotActions
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin

REFERENCE_MS = 1.0
STEPS_MS = (0.5, 1.0, 2.0, 4.0, 5.0, 8.0, 10.0)
INTEGRATORS = ("implicitfast", "implicit", "Euler", "RK4", "discrete")
INTEGRATOR_STEPS_MS = (1.0, 4.0, 8.0)
INTEGRATOR_SHARE = 4
"""Other integrators than the default simulate one in this many episodes."""
POLICY_STEPS_MS = (1.0, 4.0, 8.0)
DEMONSTRATIONS, TRAINING_STEPS = 50, 150
SEEN_SEED, UNSEEN_SEED = 1, 77
TOUCHING_N = 1.0
RESAMPLES = 1000


@dataclass(frozen=True)
class Setting:
    """A step of the physics and an integrator, by its name in MJCF."""

    timestep_ms: float
    integrator: str = INTEGRATORS[0]

    def twin(self, config: RunConfig) -> Twin:
        twin = twin_of(with_step(config, self.timestep_ms))
        model = copy(twin.model)
        model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{self.integrator.upper()}")
        return replace(twin, model=model)


REFERENCE = Setting(REFERENCE_MS)


def with_step(config: RunConfig, timestep_ms: float) -> RunConfig:
    return replace(config, rollout=replace(config.rollout, timestep_ms=timestep_ms))


def settings_of(config: RunConfig) -> list[Setting]:
    """The reference first, then all steps that divide the control period, then the other integrators."""
    period_ms = 1000 / config.rollout.control_hz
    steps = [step for step in STEPS_MS if (period_ms / step).is_integer()]
    others = [
        Setting(step, integrator) for step in INTEGRATOR_STEPS_MS if step in steps for integrator in INTEGRATORS[1:]
    ]
    return [REFERENCE, *(Setting(step) for step in steps if step != REFERENCE_MS), *others]


class Replay:
    """An actor that plays the recorded commands of the same episodes."""

    def __init__(self, recorded: Episodes):
        self._recorded = recorded
        width = len(recorded.lengths)
        self._row, self._tick = np.zeros(width, int), np.zeros(width, int)

    def begin(self, ids: np.ndarray, draws: Draws, rows: np.ndarray) -> None:  # noqa: ARG002
        self._row[ids], self._tick[ids] = rows, 0

    def act(self, cell: Cell) -> SlotActions:  # noqa: ARG002
        recorded = self._recorded
        lengths = recorded.lengths[self._row]
        frame = recorded.starts[self._row] + np.minimum(self._tick, lengths - 1)
        command = recorded["command"][frame].astype(float)
        over = self._tick >= lengths
        self._tick += 1
        return SlotActions(
            arm_rad=command[:, :-1],
            opening=command[:, -1:],
            command_rad=command[:, :-1],
            command_opening=command[:, -1:],
            phase=recorded["phase"][frame, 0].astype(int),
            over=over,
            lost=np.zeros(len(over), bool),
            retries=np.zeros(len(over), int),
        )


def simulate(twin: Twin, draws: Draws, actor: Actor, config: RunConfig) -> tuple[Episodes, float]:
    """The episodes, and their CPU time in ms per control period."""
    cell = Cell(twin, width=len(draws.attempts), threads=0)
    began = time.process_time()
    (episodes,) = rollout(cell, iter([draws]), actor, seed=config.rollout.seed)
    return episodes, 1000 * (time.process_time() - began) / float(episodes.lengths.sum())


def mean_of(values: np.ndarray) -> dict[str, float]:
    """Mean over episodes, its bootstrap interval, and the 95th percentile of episodes."""
    picks = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[picks].mean(axis=1), (0.025, 0.975))
    numbers = {"mean": values.mean(), "low": low, "high": high, "p95": np.quantile(values, 0.95)}
    return {name: float(f"{number:.4g}") for name, number in numbers.items()}


def rate_of(hits: int, trials: int) -> dict[str, float]:
    low, high = wilson(hits, trials)
    return {"rate": round(hits / trials, 4), "low": round(float(low), 4), "high": round(float(high), 4)}


def per_episode(episodes: Episodes, values: np.ndarray) -> Iterator[np.ndarray]:
    return (values[start : start + length] for start, length in zip(episodes.starts, episodes.lengths, strict=True))


def replay_errors(played: Episodes, reference: Episodes) -> dict[str, Any]:
    """Errors against the reference, frame by frame. An episode that diverged counts until then."""
    rows = [row for row in range(len(played.lengths)) if played.lengths[row] == reference.lengths[row]]

    def differences(channel: str, columns: slice) -> list[np.ndarray]:
        pairs = zip(
            per_episode(played, played[channel][:, columns]),
            per_episode(reference, reference[channel][:, columns]),
            strict=True,
        )
        parts = [(ours.astype(float), theirs) for ours, theirs in pairs]
        return [parts[row][0] - parts[row][1] for row in rows]

    def rmse(parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.array([np.sqrt(np.square(part).mean()) for part in parts])

    place = [np.linalg.norm(part, axis=1) for part in differences("environment", slice(0, 3))]
    force = differences("contact", slice(0, 2))
    touching = [part.max(axis=1) > TOUCHING_N for part in per_episode(reference, reference["contact"][:, :2])]
    gripped = [force_n[touching[row]] for row, force_n in zip(rows, force, strict=True) if touching[row].any()]
    return {
        "diverged": int(played.diverged.sum()),
        "joints_mrad": mean_of(1000 * rmse(differences("position", slice(0, -1)))),
        "object_mm": mean_of(1000 * rmse(place)),
        "object_at_end_mm": mean_of(1000 * np.array([part[-1] for part in place])),
        "finger_force_n": mean_of(rmse(gripped)),
        "same_outcome": rate_of(int((played.success == reference.success).sum()), len(played.success)),
    }


def expert_outcomes(twin: Twin, draws: Draws, config: RunConfig) -> tuple[Episodes, Sequence[str]]:
    expert = Expert(twin, config.expert, width=len(draws.attempts), seed=config.rollout.seed)
    episodes, _ = simulate(twin, draws, expert, config)
    return episodes, judge(episodes, twin, config.curate).reasons


def compare(config: RunConfig, count: int) -> list[dict[str, Any]]:
    """One row per setting: replay and expert."""
    sampler = config.sampler()
    rows: list[dict[str, Any]] = []
    references: dict[int, tuple[Episodes, Episodes, Sequence[str]]] = {}
    for setting in settings_of(config):
        number = count if setting.integrator == INTEGRATORS[0] else max(count // INTEGRATOR_SHARE, 1)
        draws = sampler.draw(0, number)
        if number not in references:
            recorded, wanted = expert_outcomes(REFERENCE.twin(config), draws, config)
            references[number] = recorded, simulate(REFERENCE.twin(config), draws, Replay(recorded), config)[0], wanted
        recorded, reference, wanted = references[number]
        twin = setting.twin(config)
        played, cpu_ms = simulate(twin, draws, Replay(recorded), config)
        acted, verdicts = expert_outcomes(twin, draws, config)
        row = {
            "timestep_ms": setting.timestep_ms,
            "integrator": setting.integrator,
            "episodes": number,
            "cpu_ms_per_period": round(cpu_ms, 4),
            "replay": replay_errors(played, reference),
            "expert": {
                "accepted": rate_of(sum(verdict == "accepted" for verdict in verdicts), number),
                "same_verdict": rate_of(sum(map(str.__eq__, verdicts, wanted)), number),
                "duration_s": mean_of(acted.lengths * twin.control_period_s),
                "hardest_contact_n": mean_of(acted.worst(acted["hardest_contact"][:, 0])),
                "deepest_contact_mm": mean_of(1000 * acted.worst(acted["penetration"][:, 0])),
            },
        }
        rows.append(row)
        errors = row["replay"]
        print(
            f"{setting.timestep_ms:4g} ms {setting.integrator:12} {cpu_ms:6.3f} CPU ms/period, "
            f"joints {errors['joints_mrad']['mean']:7.3f} mrad, object {errors['object_mm']['mean']:6.2f} mm, "
            f"fingers {errors['finger_force_n']['mean']:6.2f} N, accepted {row['expert']['accepted']['rate']:.3f}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
    return rows


def twinloop(*words: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", *map(str, words), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def policies(config: RunConfig, trials: int, folder: Path) -> list[dict[str, Any]]:
    """Success of policies, one row per step of the demonstrations and step of the evaluation."""
    files = {step: folder / f"{step:g}ms.yaml" for step in STEPS_MS[1:]}
    for step, file in files.items():
        file.write_text(with_step(config, step).to_yaml(), encoding="utf-8")
    # Small networks gain little from a second thread, so each core trains one policy.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = pool.map(lambda trained_ms: success_of_policy(trained_ms, files, trials, folder), POLICY_STEPS_MS)
        return [row for part in parts for row in part]


def success_of_policy(
    trained_ms: float, files: Mapping[float, Path], trials: int, folder: Path
) -> list[dict[str, Any]]:
    """Train on demonstrations of one step; evaluate on it and on the reference, or if these are equal, on all steps."""
    data, policy = folder / f"data-{trained_ms:g}", folder / f"policy-{trained_ms:g}"
    twinloop("generate", files[trained_ms], "--episodes", DEMONSTRATIONS, "--seed", SEEN_SEED, "--out", data)
    twinloop("train", data, "--steps", TRAINING_STEPS, "--threads", 1, "--out", policy)
    rows = []
    for judged_ms in files if trained_ms == REFERENCE_MS else (trained_ms, REFERENCE_MS):
        evaluation = twinloop(
            "evaluate", policy, files[judged_ms], "--episodes", trials, "--seed", UNSEEN_SEED, "--clips", 0,
            "--workers", 1, "--out", folder / f"evaluation-{trained_ms:g}-{judged_ms:g}",
        )  # fmt: skip
        success = {name: round(evaluation["success"][name], 4) for name in ("rate", "low", "high")}
        rows.append({"trained_ms": trained_ms, "judged_ms": judged_ms, **success})
        print(f"trained on {trained_ms:g} ms, judged on {judged_ms:g} ms: {success}", file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", type=Path, metavar="FILE", help="default: the embedded config")
    parser.add_argument("--episodes", type=int, default=128, help="of every replay and every expert")
    parser.add_argument("--trials", type=int, default=128, help="episodes of every evaluation of a policy")
    parser.add_argument("--only", choices=("settings", "policies"), help="one part of the result")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    config = load_config(args.config) if args.config else embedded_config()
    began = time.process_time()
    result: dict[str, Any] = {"reference_ms": REFERENCE_MS, "episodes": args.episodes, "trials": args.trials}
    if args.only != "policies":
        result["settings"] = compare(config, args.episodes)
        result["simulation_cpu_s"] = round(time.process_time() - began)
    if args.only != "settings":
        result |= {"demonstrations": DEMONSTRATIONS, "training_steps": TRAINING_STEPS}
        with TemporaryDirectory() as folder:
            result["policies"] = policies(config, args.trials, Path(folder))
    print(json.dumps(result, indent=None if args.json else 2))


if __name__ == "__main__":
    main()
