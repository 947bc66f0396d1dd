"""Twins against reality: fitted on one part of real logs, replayed open loop against a part that was set aside.

    python benchmarks/reality.py --data DIR [--only so101 xl330] [--out benchmarks/results/reality.json]

DIR holds `so101_table_cleanup` (every fourth episode is set aside), `xl330_pendulum` (each gain is set aside in turn,
and the twin fitted on the other two), `cube_tosses` (each third of them is set aside in turn) and `kinect_tabletops`
(scans; the videos of `so101_table_cleanup` are the frames). Prints one line a channel: what was reached, and what it
has to beat.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.calibrate.band import replay_with_band
from twinloop.calibrate.bench import Bench, load_bench, logs_of
from twinloop.calibrate.by_population import fit_by_population
from twinloop.calibrate.check import Checked, check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.logs import Log
from twinloop.calibrate.replay import Replay, replay
from twinloop.calibrate.sensors.depth import depth_noise
from twinloop.calibrate.sensors.pcd import read_scan
from twinloop.calibrate.sweep import Where
from twinloop.calibrate.visual.anchor import anchor
from twinloop.run.config import load_config

EXAMPLES = Path(__file__).parents[1] / "examples"

# RMSE on unseen episodes of a fitted pure delay plus first-order lag, and of leaving it at the command.
SO101_LAG = {"shoulder_pan": 0.46, "shoulder_lift": 1.74, "elbow_flex": 1.86, "wrist_flex": 1.11, "wrist_roll": 0.59,
             "gripper": 3.73}  # fmt: skip
SO101_COMMAND = {"shoulder_pan": 2.66, "shoulder_lift": 6.93, "elbow_flex": 7.69, "wrist_flex": 8.34,
                 "wrist_roll": 3.23, "gripper": 5.89}  # fmt: skip
XL330_COULOMB_VISCOUS_RAD = 0.061
XL330_PUBLISHED_RAD = (0.095, 0.100)
EVERY, THIRDS = 4, 3
CUBE_TO_REACH = (13.2, 17.6)  # per cent of the cube's width, degrees
CUBE_ENGINE = {"friction": 1.0, "contact_damping_ratio": 1.0, "contact_time_s": 0.02, "table_height_m": 0.0}


def fitted(bench: Bench, checked: Checked, unseen: list[Log], threads: int) -> tuple[Replay, float, dict[str, Any]]:
    began = time.perf_counter()
    fit = calibrate(bench, checked, bench.fit, seed=0, where=Where(threads))
    seconds = time.perf_counter() - began
    told = {name: {"value": f.value, "low": f.low, "high": f.high} for name, f in fit.patch.fitted.items()}
    return replay_with_band(bench, unseen, fit.patch, where=Where(threads)), seconds, told


def so101(data: Path, threads: int) -> dict[str, Any]:
    bench = load_bench(EXAMPLES / "so101_cell.yaml")
    checked = check(bench, logs_of(bench, data / "so101_table_cleanup"))
    unseen = [log for place, log in enumerate(checked.logs) if place % EVERY == 1]
    seen = tuple(log for place, log in enumerate(checked.logs) if place % EVERY != 1)
    found, seconds, told = fitted(bench, Checked(seen, checked.findings), unseen, threads)
    return {
        "episodes_unseen": len(unseen),
        "seconds": round(seconds, 1),
        "rmse": {name: round(error.rmse, 3) for name, error in found.errors.items()},
        "lag_rmse": SO101_LAG,
        "command_rmse": SO101_COMMAND,
        "coverage": {name: round(share, 3) for name, share in found.coverage.items()},
        "fitted": told,
    }


def xl330(data: Path, threads: int) -> dict[str, Any]:
    bench = load_bench(EXAMPLES / "xl330_bench.yaml")
    logs = check(bench, logs_of(bench, data / "xl330_pendulum")).logs
    gains = sorted({log.constants["kp"] for log in logs})
    by_gain = {}
    for gain in gains:
        unseen = [log for log in logs if log.constants["kp"] == gain]
        seen = tuple(log for log in logs if log.constants["kp"] != gain)
        found, seconds, told = fitted(bench, check(bench, seen), unseen, threads)
        by_gain[f"kp{gain:g}"] = {
            "mae_rad": round(found.errors["position"].mae, 4),
            "coverage": round(found.coverage["position"], 3),
            "seconds": round(seconds, 1),
            "fitted": told,
        }
        print(f"  kp{gain:g} unseen: {found.errors['position'].mae:.4f} rad ({seconds:.0f} s)", flush=True)
    mean = sum(each["mae_rad"] for each in by_gain.values()) / len(by_gain)
    return {
        "by_gain": by_gain,
        "mae_rad": round(mean, 4),
        "coulomb_viscous_mae_rad": XL330_COULOMB_VISCOUS_RAD,
        "published_mae_rad": list(XL330_PUBLISHED_RAD),
    }


def cube(data: Path, threads: int) -> dict[str, Any]:
    bench = load_bench(EXAMPLES / "cube_toss.yaml")
    logs = check(bench, logs_of(bench, data / "cube_tosses")).logs
    by_split, defaults = {}, []
    for third in range(THIRDS):
        unseen = [log for place, log in enumerate(logs) if place % THIRDS == third]
        seen = tuple(log for place, log in enumerate(logs) if place % THIRDS != third)[:40]
        began = time.perf_counter()
        fit = fit_by_population(bench, Checked(seen, ()), bench.fit, seed=0, where=Where(threads))
        seconds = time.perf_counter() - began
        found = replay_with_band(bench, unseen, fit.patch, where=Where(threads))
        by_split[f"third {third + 1}"] = {
            "tosses_fitted": len(fit.used),
            "tosses_unseen": len(unseen),
            "seconds": round(seconds, 1),
            **_of_tosses(found),
            "coverage": {name: round(share, 3) for name, share in found.coverage.items()},
            "fitted": {name: {"value": f.value, "low": f.low, "high": f.high} for name, f in fit.patch.fitted.items()},
        }
        defaults.append(_of_tosses(replay(bench, unseen, CUBE_ENGINE, where=Where(threads))))
        print(f"  third {third + 1} unseen: {_of_tosses(found)} ({seconds:.0f} s)", flush=True)
    return {
        "by_split": by_split,
        "engine_defaults": {name: round(sum(each[name] for each in defaults) / THIRDS, 2) for name in defaults[0]},
        "to_reach": {"width_percent": CUBE_TO_REACH[0], "degrees": CUBE_TO_REACH[1]},
    }


def _of_tosses(found: Replay) -> dict[str, float]:
    """Means over tosses of the mean over each whole toss; a width is two half widths."""
    place, turn = (
        sum(errors[name].mae for errors in found.by_log.values()) / len(found.by_log) for name in ("place", "turn")
    )
    return {"width_percent": round(50 * place, 2), "degrees": round(turn, 2)}


def depth(data: Path, threads: int) -> dict[str, Any]:
    scans = [read_scan(file) for file in sorted((data / "kinect_tabletops").glob("*.pcd"))]
    noise = depth_noise(scans, rng=np.random.default_rng(0))
    assert noise.step_mm is not None
    return {
        "step_mm": [noise.step_mm.value, noise.step_mm.low, noise.step_mm.high],
        "edge_noise_px": [noise.spread_px.value, noise.spread_px.low, noise.spread_px.high],
        "edge_noise_px_by_distance": list(noise.near_far_px),
        "axial_mm": list(noise.axial_mm),
        "by_distance": [asdict(each) for each in noise.bins],
        "threads": threads,
    }


def frames(data: Path, threads: int) -> dict[str, Any]:
    found = anchor(load_config(EXAMPLES / "cameras.yaml"), data / "so101_table_cleanup" / "videos", camera="front")
    return {
        "distance_before": round(found.distance_before, 2),
        "distance_after": round(found.distance_after, 2),
        "fitted": {name: {"value": f.value, "low": f.low, "high": f.high} for name, f in found.patch.fitted.items()},
        "threads": threads,
    }


PARTS = {"so101": so101, "xl330": xl330, "cube": cube, "depth": depth, "frames": frames}


def show(results: dict[str, Any]) -> None:
    print(f"{'':34}{'reached':>10}{'to beat':>10}   90 % band holds")
    for name, reached in results.get("so101", {}).get("rmse", {}).items():
        part = results["so101"]
        covered = 100 * part["coverage"][name]
        print(f"so101 {name + ', RMSE %':28}{reached:10.3f}{part['lag_rmse'][name]:10.2f}   {covered:.1f} %")
    for name, each in results.get("xl330", {}).get("by_gain", {}).items():
        label, covered = f"{name} unseen, MAE rad", 100 * each["coverage"]
        print(f"xl330 {label:28}{each['mae_rad']:10.4f}{XL330_COULOMB_VISCOUS_RAD:10.3f}   {covered:.1f} %")

    for split, part in results.get("cube", {}).get("by_split", {}).items():
        for name, unit, of in (("width_percent", "place, % of width", "place"), ("degrees", "turn, degrees", "turn")):
            label, limit = f"{split}, {unit}", results["cube"]["to_reach"][name]
            print(f"cube {label:29}{part[name]:10.2f}{limit:10.1f}   {100 * part['coverage'][of]:.1f} %")
            print(f"     {'engine defaults':29}{results['cube']['engine_defaults'][name]:10.2f}")
    for each in results.get("depth", {}).get("by_distance", []):
        label = f"{each['near_m']:.1f} to {each['far_m']:.1f} m, mm"
        print(f"depth noise {label:22}{each['measured_mm']:10.2f} measured, {each['twin_mm']:.2f} in the twin")
    if "frames" in results:
        part = results["frames"]
        print(f"frames, distance in levels: {part['distance_before']:.1f} before, {part['distance_after']:.1f} after")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=sorted(PARTS), default=sorted(PARTS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "reality.json")
    args = parser.parse_args()
    results: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.only:
        print(f"{name} ...", flush=True)
        results[name] = PARTS[name](args.data, args.threads)
        args.out.write_text(json.dumps(results, indent=1) + "\n")
    show(results)


if __name__ == "__main__":
    main()
