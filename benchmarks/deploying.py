"""What does a policy lose on its way from the twin to a rehearsal cell, trained with randomization and without?

    python benchmarks/deploying.py [--cells nominal mild hard harsh] [--episodes 100] [--demonstrations 1000]
                                   [--workers 2] [--out DIR] [--json]

Both are trained by the commands a user has, from as many demonstrations: one of a twin in which nothing varies, one of
a twin in which everything that fits the scene does (`randomization: realistic`). Both then act in the same scenes of
each cell, in turns, behind the safety filter. Datasets, policies and runlogs stay in DIR, so a run that was
stopped goes on.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SHIPPED = ("nominal", "mild", "hard", "harsh")
TWINS = {"plain": "scene: {}\n", "realistic": "scene: {}\nrandomization: realistic\n"}
ARMS = {"candidate": "realistic", "control": "plain"}


def twinloop(*words: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "twinloop", *map(str, words), "--json"], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def trained(out: Path, name: str, *, demonstrations: int, steps: int) -> Path:
    config, data, policy = out / f"{name}.yaml", out / "datasets" / name, out / "policies" / name
    if not (policy / "card.json").exists():
        config.write_text(TWINS[name])
        # Of the attempts some fail; a policy is shown as many demonstrations whichever twin they are from.
        twinloop("generate", config, "--episodes", 2 * demonstrations, "--out", data)
        twinloop("train", data, "--episodes", demonstrations, "--steps", steps, "--out", policy)
    return policy


def measured(out: Path, cell: str, policies: dict[str, Path], *, episodes: int, workers: int) -> dict[str, Any]:
    done = twinloop(
        "deploy", policies["realistic"], "--control", policies["plain"], "--robot", f"rehearsal:{cell}",
        "--episodes", episodes, "--workers", workers, "--out", out / "runlogs" / cell, "--stop-file", out / "stop",
    )  # fmt: skip
    row: dict[str, Any] = {}
    for tally in done["policies"]:
        name, success = ARMS[tally["arm"]], tally["success"]
        rate, (low, high) = success["rate"] or 0.0, success["interval"]
        failed = ", ".join(f"{what} {many}" for what, many in tally["failures"].items())
        changed = sum(each["periods"] for each in tally["safety"].values())
        print(f"{cell:8} {name:10} {rate:.2f} [{low:.2f}, {high:.2f}]  {failed}", file=sys.stderr, flush=True)
        row |= {
            f"{name}_episodes": tally["episodes"], f"{name}_rate": round(rate, 4),
            f"{name}_low": round(low, 4), f"{name}_high": round(high, 4), f"{name}_failed": failed,
            f"{name}_aborted": sum(tally["aborted"].values()),
            f"{name}_changes_a_period": round(changed / max(1, tally["periods"]), 4),
        }  # fmt: skip
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=SHIPPED)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--demonstrations", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        out = args.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        policies = {name: trained(out, name, demonstrations=args.demonstrations, steps=args.steps) for name in TWINS}
        rows = {
            cell: measured(out, cell, policies, episodes=args.episodes, workers=args.workers) for cell in args.cells
        }
    if args.json:
        print(json.dumps({f"{cell}_{name}": value for cell, row in rows.items() for name, value in row.items()}))


if __name__ == "__main__":
    main()
