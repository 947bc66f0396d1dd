"""Measure how `twinloop diagnose` does in an engine that nothing of Twinloop was made with: a Panda in PyBullet.

    pip install pybullet
    python benchmarks/bullet.py [--seed 1000] [--work] [--out out/bullet]

`bullet_panda.py` has the robot. The cells are drawn from the seed, by the table `KNOBS`: nothing open, one gap, or an
effect that no row describes. The visual gap is left out, because there is no camera. A policy is trained in the twin
alone. The diagnosis gets the runlog only. Finished cells are not run again. About 1 CPU minute per cell.

The ranges of `KNOBS` were chosen with cells of seed 1, so that many cells lose success; some are beyond most robots.
The held-out cells, seed 1000, were run once. Cells of seed 1 also led to a change of the trait `grip`; nothing else of
the diagnosis was changed for this engine.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from diagnosis import summary_of, tally

import twinloop as tl
from twinloop.randomize.draw import episode_rng
from twinloop.run.default import embedded_config

try:
    from bullet_panda import BulletCell, BulletPanda
except ImportError as error:
    raise SystemExit(f"{error}. This benchmark needs PyBullet: pip install pybullet") from None

RESULTS = Path(__file__).parent / "results" / "bullet.json"
DEMONSTRATIONS, STEPS, EPISODES, EMPTY = 600, 2000, 16, 3
KNOBS: dict[str, dict[str, tuple[float, float]]] = {
    "contact": {"friction": (0.02, 0.035)},
    "object": {"mass_kg": (1.5, 3.5), "half_m": (0.012, 0.014)},
    "actuation": {"stiffness_scale": (0.06, 0.12), "grip_scale": (0.1, 0.2)},
    "latency": {"action_delay_ms": (100.0, 150.0), "observation_delay_ms": (100.0, 150.0)},
    "sensing": {"tracker_noise_mm": (9.0, 15.0), "tracker_bias_mm": (14.0, 20.0), "tracker_delay_ms": (220.0, 320.0)},
    "environment": {"table_height_m": (0.014, 0.024), "start_spread_m": (0.08, 0.12)},
    "human": {"shove_m": (0.06, 0.12)},
}
"""Gap -> numbers of the cell that open it, with the range from which each is drawn."""
EFFECTS = {
    "cable_n_m": (120.0, 200.0), "clinging_n": (2.0, 4.0), "sticky_n": (8.0, 16.0), "stick_slip_nm": (3.0, 8.0),
    "warp_m": (0.02, 0.03),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A cell. gaps: what is open. truth: the numbers that differ from those of an empty cell."""

    name: str
    kind: str
    seed: int
    gaps: tuple[str, ...] = ()
    truth: dict[str, float] = field(default_factory=dict)

    @property
    def cell(self) -> BulletCell:
        numbers: dict[str, Any] = dict(self.truth)
        if "tracker_bias_mm" in numbers:
            angle = episode_rng(self.seed, 0, stream="angle").uniform(0, 2 * np.pi)
            size_mm = numbers["tracker_bias_mm"]
            numbers["tracker_bias_mm"] = (size_mm * np.cos(angle), size_mm * np.sin(angle))
        if "shove_m" in numbers:
            numbers["shove_probability"] = 1.0
        return BulletCell(self.seed, **numbers)


def cases(seed: int) -> Iterator[Case]:
    """The cells of a seed: empty ones, one for each number of `KNOBS`, and one for each effect."""
    rng = episode_rng(seed, 0, stream="bullet")
    for number in range(EMPTY):
        yield Case(f"{seed}-empty-{number}", "none", seed + number)
    knobs = [(gap, knob, ends) for gap, knobs in KNOBS.items() for knob, ends in knobs.items()]
    for place, (gap, knob, ends) in enumerate(knobs, start=EMPTY):
        yield Case(f"{seed}-{gap}-{knob}", "single", seed + place, (gap,), {knob: _drawn(rng, ends)})
    for place, (effect, ends) in enumerate(EFFECTS.items(), start=EMPTY + len(knobs)):
        yield Case(f"{seed}-effect-{effect}", "effect", seed + place, (), {effect: _drawn(rng, ends)})


def _drawn(rng: np.random.Generator, ends: tuple[float, float]) -> float:
    return float(np.round(rng.uniform(*ends), 3))


def trained_policy(out: Path) -> tuple[Path, Path]:
    """(policy, config); trained if it does not exist yet."""
    config, policy = out / "cell.yaml", out / "policy"
    if not policy.exists():
        out.mkdir(parents=True, exist_ok=True)
        config.write_text(embedded_config().to_yaml())
        dataset = tl.generate(config, out / "dataset", episodes=DEMONSTRATIONS, seed=1)
        tl.train(dataset, policy, steps=STEPS)
    return policy, config


def run_case(case: Case, out: Path) -> dict[str, Any]:
    """Deploy the policy in the cell and diagnose the runlog."""
    policy, config = trained_policy(out)
    log = out / "runlogs" / case.name
    tl.deploy(policy, BulletPanda(case.cell), log, episodes=EPISODES)
    report = tl.diagnose(log, policy, config, cache=out / "banks", workers=1, out=out / "diagnoses" / case.name)
    # `tally` compares a cell with the empty ones of the same engine and scene.
    return {**asdict(case), "engine": "bullet", "scene": 0, **summary_of(report), "verdict": report.verdict()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--work", action="store_true", help="do not write into benchmarks/results/")
    parser.add_argument("--out", type=Path, default=Path("out/bullet"))
    args = parser.parse_args()
    rows = []
    (args.out / "results").mkdir(parents=True, exist_ok=True)
    for case in cases(args.seed):
        file = args.out / "results" / f"{case.name}.json"
        if not file.exists():
            file.write_text(json.dumps(run_case(case, args.out), indent=1) + "\n")
        rows.append(json.loads(file.read_text()))
        first = ", ".join(f"{gap} {rows[-1]['probability'][gap]:.2f}" for gap in rows[-1]["ranked"][:3])
        unmodelled = rows[-1]["unmodelled"]["present"]
        print(
            f"{case.name} {case.truth} success {rows[-1]['success']:.2f}: {first}; unmodelled {unmodelled}", flush=True
        )
    # No row has a true value here: the cell's numbers are not rows of Twinloop.
    counted = {name: rate for name, rate in tally([row | {"rows": []} for row in rows]).items() if rate["cases"]}
    print(json.dumps(counted, indent=1))
    if not args.work:
        kept = [{key: value for key, value in row.items() if key != "differs"} for row in rows]
        RESULTS.write_text(json.dumps({"seed": args.seed, "episodes": EPISODES, "tally": counted, "rows": kept}) + "\n")


if __name__ == "__main__":
    main()
