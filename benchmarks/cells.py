"""Measure the success of demonstrators and policies in each rehearsal cell, with different randomization.

    python benchmarks/cells.py [--cells nominal mild hard harsh] [--episodes 50] [--demonstrations 1000] [--json]

All actors use the public commands, the same runtime, the same safety filter and the same scenes:

1. the scripted expert, and the scripted expert with human imperfections;
2. `mlp` policies trained on the same number of demonstrations in the twin: with nothing varied, with the default
   config, and with everything that fits the scene (`randomization: realistic`).

An aborted episode counts as a failure. Datasets, policies and runlogs stay in DIR, so a stopped run continues. About
two hours on 2 cores.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from twinloop.curate.intervals import wilson
from twinloop.run.default import embedded_config

CELLS = ("nominal", "mild", "hard", "harsh")
NOISE = "expert:\n  action_noise_rad: 0.005\n"
CONFIGS = {
    "nothing varied": f"scene: {{}}\n{NOISE}",
    "the default config": embedded_config().to_yaml(),
    "all that fits the scene": f"scene: {{}}\nrandomization: realistic\n{NOISE}",
}
DEMONSTRATORS = {"the scripted expert": "script", "the same with a human's imperfections": "human-like"}
SEEN_SEED = 1


def twinloop(*words: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def trained(out: Path, title: str, demonstrations: int, steps: int) -> Path:
    name = title.replace(" ", "-")
    file = out / "configs" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CONFIGS[title])
    made = twinloop(
        "generate", file, "--episodes", demonstrations, "--seed", SEEN_SEED, "--out", out / "datasets" / name
    )
    policy = out / "policies" / name
    twinloop("train", made["path"], "--steps", steps, "--threads", 1, "--out", policy)
    return policy


def entry(tally: dict[str, Any] | None) -> dict[str, Any]:
    successes, episodes = (tally["success"]["successes"], tally["episodes"]) if tally else (0, 0)
    low, high = wilson(successes, episodes)
    aborted = sum(tally["aborted"].values()) if tally else 0
    return {
        "successes": successes, "episodes": episodes, "aborted": aborted,
        "low": round(float(low), 4), "high": round(float(high), 4),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--demonstrations", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/cells"))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    out, many = args.out, ("--episodes", args.episodes, "--workers", args.workers)
    policies = {title: trained(out, title, args.demonstrations, args.steps) for title in CONFIGS}
    rows: dict[str, dict[str, Any]] = {}
    for title, kind in DEMONSTRATORS.items():
        rows[title] = {}
        for cell in args.cells:
            log = out / "runlogs" / kind / cell
            done = twinloop("collect", "--robot", f"rehearsal:{cell}", "--demonstrator", kind, *many, "--out", log)
            rows[title][cell] = _print_row(title, cell, entry(done["runlogs"][0]["tally"]))
    for title, policy in policies.items():
        rows[title] = {}
        for cell in args.cells:
            log = out / "runlogs" / policy.name / cell
            done = twinloop("deploy", policy, "--robot", f"rehearsal:{cell}", *many, "--out", log)
            rows[title][cell] = _print_row(title, cell, entry((done["policies"] or [None])[0]))
    if args.json:
        print(json.dumps({"demonstrations": args.demonstrations, "steps": args.steps, "rows": rows}))


def _print_row(title: str, cell: str, row: dict[str, Any]) -> dict[str, Any]:
    print(
        f"{title:40} {cell:8} {row['successes']}/{row['episodes']} [{row['low']:.2f}, {row['high']:.2f}]",
        flush=True,
    )
    return row


if __name__ == "__main__":
    main()
