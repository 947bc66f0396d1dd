"""Measure how often `twinloop diagnose` names the open gap, in rehearsal cells with known gaps.

    python benchmarks/diagnosis.py [--seeds 0:24] [--episodes 40] [--json]

Each seed gives a cell with one open gap at one of three magnitudes; 24 consecutive seeds cover every gap at each
magnitude. Every third seed also gives a cell with two open gaps, and every fourth a cell with none. The policy
(`mlp`, trained on the default config) is deployed in each cell with the public commands, and the diagnosis sees the
runlog only. The bank of counterfactuals is made once. Everything stays in DIR, so a stopped run continues. About 1.5
minutes per cell on 2 cores, and ten minutes before the first.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from cells import trained, twinloop

from twinloop.curate.intervals import wilson
from twinloop.randomize.draw import episode_rng
from twinloop.randomize.parameter import GAPS

MAGNITUDES = (0.5, 0.75, 1.0)
POLICY = "the default config"


def cases(seeds: range) -> list[dict[str, Any]]:
    """gaps: open gaps and their magnitudes."""
    found = []
    for seed in seeds:
        rng = episode_rng(seed, 0, stream="diagnosis")
        turn, at = divmod(seed, len(GAPS))
        gap, size = GAPS[at], MAGNITUDES[(at + turn) % len(MAGNITUDES)]
        found.append({"seed": seed, "kind": "single", "gaps": {gap: size}})
        if seed % 3 == 0:
            one, other = rng.choice(len(GAPS), size=2, replace=False)
            sizes = rng.choice(MAGNITUDES, size=2)
            found.append({
                "seed": seed, "kind": "pair", "gaps": {GAPS[one]: float(sizes[0]), GAPS[other]: float(sizes[1])},
            })  # fmt: skip
        if seed % 4 == 0:
            found.append({"seed": seed, "kind": "none", "gaps": {}})
    return found


def diagnosed(case: dict[str, Any], policy: Path, out: Path, args: argparse.Namespace) -> dict[str, Any]:
    name = f"{case['seed']:04d}-{case['kind']}"
    file = out / "cells" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    # The seed determines scenes and calibration errors, so each kind of cell has seeds of its own.
    file.write_text(json.dumps({"seed": 1_000 + case["seed"], "gaps": case["gaps"]}))
    log = out / "runlogs" / name
    twinloop(
        "deploy", policy, "--robot", f"rehearsal:{file}", "--episodes", args.episodes, "--workers", args.workers,
        "--out", log,
    )  # fmt: skip
    report = twinloop(
        "diagnose", log, "--policy", policy, "--twin", out / "configs" / "the-default-config.yaml", "--cache",
        out / "banks", "--cells", args.cells, "--out", out / "diagnoses" / name,
    )  # fmt: skip
    ranked = [finding["gap"] for finding in report["findings"]]
    return case | {
        "success": report["success"], "ranked": ranked, "nothing": report["nothing"],
        "found": [finding["gap"] for finding in report["findings"] if finding["probability"] >= 0.5],
        "probability": {finding["gap"]: round(finding["probability"], 3) for finding in report["findings"]},
        "points": {finding["gap"]: round(finding["points"], 1) for finding in report["findings"]},
        "unmodelled": report["unmodelled"]["present"],
    }  # fmt: skip


def tally(rows: list[dict[str, Any]]) -> dict[str, Any]:
    def share(hits: list[bool]) -> dict[str, Any]:
        low, high = wilson(sum(hits), len(hits)) if hits else (0.0, 1.0)
        return {"hits": sum(hits), "cases": len(hits), "low": round(float(low), 3), "high": round(float(high), 3)}

    singles = [row for row in rows if row["kind"] == "single"]
    pairs = [row for row in rows if row["kind"] == "pair"]
    return {
        "first": share([next(iter(row["gaps"])) == row["ranked"][0] for row in singles]),
        "among the first two": share([next(iter(row["gaps"])) in row["ranked"][:2] for row in singles]),
        "one of a pair first": share([row["ranked"][0] in row["gaps"] for row in pairs]),
        "both of a pair among the first three": share([set(row["gaps"]) <= set(row["ranked"][:3]) for row in pairs]),
        "none, and said so": share([not row["found"] for row in rows if row["kind"] == "none"]),
        "by magnitude": {
            str(size): share([
                next(iter(row["gaps"])) == row["ranked"][0] for row in singles if size in row["gaps"].values()
            ])
            for size in MAGNITUDES
        },
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:24", help="first:stop")
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--cells", type=int, default=24)
    parser.add_argument("--demonstrations", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/diagnosis"))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    first, stop = map(int, args.seeds.split(":"))
    policy = trained(args.out, POLICY, args.demonstrations, args.steps)
    rows = []
    for case in cases(range(first, stop)):
        row = diagnosed(case, policy, args.out, args)
        told = ", ".join(f"{gap} {size:g}" for gap, size in row["gaps"].items()) or "nothing"
        said = ", ".join(f"{gap} {row['probability'][gap]:.2f}" for gap in row["ranked"][:3])
        print(f"seed {row['seed']:3} {told:36} success {row['success']:.2f}  {said}", flush=True)
        rows.append(row)
    found = tally(rows)
    for name, value in found.items():
        print(f"{name}: {value}")
    if args.json:
        print(json.dumps({"seeds": args.seeds, "episodes": args.episodes, "cells": args.cells, "tally": found,
                          "rows": rows}))  # fmt: skip


if __name__ == "__main__":
    main()
