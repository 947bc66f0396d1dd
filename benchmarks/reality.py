"""Twins against reality: fitted on one part of real logs, replayed open loop on a held-out part.

    python benchmarks/reality.py --data DIR [--only so101 xl330] [--out benchmarks/results/reality.json]

DIR holds `so101_table_cleanup`, `xl330_pendulum` (each gain is held out in turn, and the twin fitted on the other two),
`cube_tosses` (each third is held out in turn, and predicted from 12 frames and from one) and `kinect_tabletops` (scans;
the frames are the videos of `so101_table_cleanup`). Prints one line per channel: the result, and the figure to beat.

The episodes of `so101_table_cleanup` are split into work episodes, which everything is fitted and tuned on, and figure
episodes (every fourth), which are only replayed here. The fitted delay plus lag beside it uses the same split. CPU
seconds are those of this process and its children. The 90 % interval of a coverage is a bootstrap over the held-out
logs.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from coverage_interval import coverage_interval

from twinloop.calibrate.band import replay_with_band
from twinloop.calibrate.bench import Bench, load_bench, logs_of
from twinloop.calibrate.by_population import fit_by_population
from twinloop.calibrate.check import Checked, check
from twinloop.calibrate.fit import calibrate
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.replay import Replay, distances_of, replay
from twinloop.calibrate.sensors.depth import depth_noise
from twinloop.calibrate.sensors.pcd import read_scan
from twinloop.calibrate.sweep import Where
from twinloop.calibrate.track import track_of
from twinloop.calibrate.visual.anchor import anchor
from twinloop.run.config import load_config

EXAMPLES = Path(__file__).parents[1] / "examples"

# RMSE on held-out episodes if every joint were at its command.
SO101_COMMAND = {"shoulder_pan": 2.66, "shoulder_lift": 6.93, "elbow_flex": 7.69, "wrist_flex": 8.34,
                 "wrist_roll": 3.23, "gripper": 5.89}  # fmt: skip
XL330_COULOMB_VISCOUS_RAD = 0.061
XL330_PUBLISHED_RAD = (0.095, 0.100)
THIRDS = 3
FIGURE_EVERY, FIGURE_FIRST = 4, 1
"""Every fourth usable episode, from the second, is a figure episode; the others are work episodes."""
CUBE_TO_REACH = (13.2, 17.6)  # per cent of the cube's width, degrees
CUBE_STARTS = 32
CUBE_ENGINE = {"friction": 1.0, "contact_damping_ratio": 1.0, "contact_time_s": 0.02, "table_height_m": 0.0}


def cpu_s() -> float:
    """CPU seconds of this process and of its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def fitted(bench: Bench, checked: Checked, held_out: list[Log], threads: int) -> tuple[Replay, float, dict[str, Any]]:
    """The replay of the held-out logs, CPU seconds of the fit, and the fitted values."""
    began = cpu_s()
    fit = calibrate(bench, checked, bench.fit, seed=0, where=Where(threads))
    seconds = cpu_s() - began
    values = {name: {"value": f.value, "low": f.low, "high": f.high} for name, f in fit.patch.fitted.items()}
    return replay_with_band(bench, held_out, fit.patch, where=Where(threads)), seconds, values


def coverage_of(replayed: Replay) -> dict[str, dict[str, Any]]:
    """Share of the measurements of each channel that the 90 % band contains, and its interval."""
    intervals = {name: coverage_interval(replayed, name, rng=np.random.default_rng(0)) for name in replayed.coverage}
    return {
        "coverage": {name: round(share, 3) for name, share in replayed.coverage.items()},
        "coverage_interval": {name: [round(end, 3) for end in ends] for name, ends in intervals.items()},
    }


def split_so101(logs: tuple[Log, ...]) -> tuple[tuple[Log, ...], list[Log]]:
    """Work episodes and figure episodes."""
    figure = set(range(FIGURE_FIRST, len(logs), FIGURE_EVERY))
    work = tuple(log for place, log in enumerate(logs) if place not in figure)
    return work, [logs[place] for place in sorted(figure)]


def so101(data: Path, threads: int) -> dict[str, Any]:
    bench = load_bench(EXAMPLES / "so101_cell.yaml")
    checked = check(bench, logs_of(bench, data / "so101_table_cleanup"))
    work, figure = split_so101(checked.logs)
    replayed, seconds, values = fitted(bench, Checked(work, checked.findings), figure, threads)
    return {
        "work_episodes": [log.name for log in work],
        "figure_episodes": [log.name for log in figure],
        "cpu_s": round(seconds, 1),
        "rmse": {name: round(error.rmse, 3) for name, error in replayed.errors.items()},
        "lag_rmse": {name: round(error.rmse, 3) for name, error in replayed.delay_lag.items()},
        "command_rmse": SO101_COMMAND,
        **coverage_of(replayed),
        "worst_first": {
            log: {name: round(error.rmse, 3) for name, error in errors.items()}
            for log, errors in replayed.by_log.items()
        },
        "fitted": values,
    }


def xl330(data: Path, threads: int) -> dict[str, Any]:
    bench = load_bench(EXAMPLES / "xl330_bench.yaml")
    logs = check(bench, logs_of(bench, data / "xl330_pendulum")).logs
    gains = sorted({log.constants["kp"] for log in logs})
    by_gain = {}
    for gain in gains:
        held_out = [log for log in logs if log.constants["kp"] == gain]
        others = tuple(log for log in logs if log.constants["kp"] != gain)
        replayed, seconds, values = fitted(bench, check(bench, others), held_out, threads)
        by_gain[f"kp{gain:g}"] = {
            "mae_rad": round(replayed.errors["position"].mae, 4),
            "lag_mae_rad": round(replayed.delay_lag["position"].mae, 4),
            **{name: by_channel["position"] for name, by_channel in coverage_of(replayed).items()},
            "cpu_s": round(seconds, 1),
            "fitted": values,
        }
        mae = replayed.errors["position"].mae
        print(f"  kp{gain:g} held out: {mae:.4f} rad ({seconds:.0f} CPU s)", flush=True)
    mean = sum(result["mae_rad"] for result in by_gain.values()) / len(by_gain)
    return {
        "by_gain": by_gain,
        "mae_rad": round(mean, 4),
        "coulomb_viscous_mae_rad": XL330_COULOMB_VISCOUS_RAD,
        "published_mae_rad": list(XL330_PUBLISHED_RAD),
    }


def cube(data: Path, threads: int) -> dict[str, Any]:
    """Contact parameters are fitted with the flight of the first frames of the tosses that are seen. The held-out
    tosses are then predicted twice: from their first `begin_frames` frames (12), and from one frame, as the figure
    to reach is."""
    bench = load_bench(EXAMPLES / "cube_toss.yaml")
    logs = check(bench, logs_of(bench, data / "cube_tosses")).logs
    by_split, defaults = {}, []
    for third in range(THIRDS):
        unseen = [log for place, log in enumerate(logs) if place % THIRDS == third]
        seen = tuple(log for place, log in enumerate(logs) if place % THIRDS != third)[:40]
        began = time.perf_counter()
        fit = fit_by_population(bench, Checked(seen, ()), bench.fit, seed=0, where=Where(threads))
        seconds = time.perf_counter() - began
        replayed = replay_with_band(bench, unseen, fit.patch, where=Where(threads))
        by_split[f"third {third + 1}"] = {
            "tosses_fitted": len(fit.used),
            "tosses_unseen": len(unseen),
            "seconds": round(seconds, 1),
            **_of_tosses(replayed),
            "one_frame": one_frame(bench, seen, unseen, fit.patch.values, Where(threads)),
            **coverage_of(replayed),
            "fitted": {name: {"value": f.value, "low": f.low, "high": f.high} for name, f in fit.patch.fitted.items()},
        }
        defaults.append(_of_tosses(replay(bench, unseen, CUBE_ENGINE, where=Where(threads))))
        print(f"  third {third + 1} unseen: {_of_tosses(replayed)} ({seconds:.0f} s)", flush=True)
    return {
        "frames_used": bench.logs.begin_frames,
        "by_split": by_split,
        "engine_defaults": {name: round(sum(errors[name] for errors in defaults) / THIRDS, 2) for name in defaults[0]},
        "to_reach": {"width_percent": CUBE_TO_REACH[0], "degrees": CUBE_TO_REACH[1], "frames_used": 1},
    }


def one_frame(
    bench: Bench, seen: Sequence[Log], unseen: Sequence[Log], values: dict[str, float], where: Where
) -> dict[str, dict[str, float]]:
    """Errors of predictions from the first logged frame of a toss alone.

    `as_logged` starts at the logged velocities. `expected` is the mean motion of starts whose velocities are drawn
    around the logged ones, with the noise that logged velocities have in the seen tosses.
    """
    single = replace(bench, logs=replace(bench.logs, begin_frames=1))
    speed, spin = ("speed", "spin")
    noise = {
        name: np.std([track_of(single, log).begin[name] - track_of(bench, log).begin[name] for log in seen], axis=0)
        for name in (speed, spin)
    }
    rng = np.random.default_rng(0)
    starts = [_started(single, log, noise, rng) for _ in range(CUBE_STARTS) for log in unseen]
    simulator = BenchSimulator(single, starts, tuple(values), where=where)
    simulated = simulator.simulate(np.array([list(values.values())]))
    place, turn = (
        simulated[name][0].reshape(CUBE_STARTS, len(unseen), *simulated[name].shape[2:]) for name in ("place", "turn")
    )
    errors = {"width_percent": [], "degrees": []}
    for number, log in enumerate(unseen):
        measured = track_of(single, log).measured
        rotations = turn[:, number, : len(log)]
        # The mean rotation: the main axis of the quaternions, which has no sign.
        mean_turn = np.linalg.eigh(np.einsum("nti,ntj->tij", rotations, rotations))[1][..., -1]
        means = {"place": place[:, number, : len(log)].mean(axis=0), "turn": mean_turn}
        channels = {channel.name: channel for channel in single.compared}
        for key, name, factor in (("width_percent", "place", 50.0), ("degrees", "turn", 1.0)):
            distance = distances_of(channels[name], means[name], measured[name])
            errors[key].append(factor * float(np.nanmean(distance)))
    expected = {key: round(float(np.mean(values)), 2) for key, values in errors.items()}
    return {"as_logged": _of_tosses(replay(single, unseen, values, where=where)), "expected": expected}


def _started(bench: Bench, log: Log, noise: dict[str, np.ndarray], rng: np.random.Generator) -> Log:
    """The log with other velocities in its first frame."""
    state = log.columns["state"].copy()
    for channel in bench.measured:
        if channel.name in noise:
            elements = np.array(channel.elements, int)
            state[0, elements] += rng.normal(0, noise[channel.name]) / channel.scale
    return replace(log, columns={"state": state})


def _of_tosses(replayed: Replay) -> dict[str, float]:
    """Means over tosses of the mean over each whole toss; a width is two half widths."""
    place, turn = (
        sum(errors[name].mae for errors in replayed.by_log.values()) / len(replayed.by_log)
        for name in ("place", "turn")
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
        "by_distance": [asdict(bin_) for bin_ in noise.bins],
        "threads": threads,
    }


def frames(data: Path, threads: int) -> dict[str, Any]:
    anchored = anchor(load_config(EXAMPLES / "cameras.yaml"), data / "so101_table_cleanup" / "videos", camera="front")
    return {
        "distance_before": round(anchored.distance_before, 2),
        "distance_after": round(anchored.distance_after, 2),
        "fitted": {name: {"value": f.value, "low": f.low, "high": f.high} for name, f in anchored.patch.fitted.items()},
        "threads": threads,
    }


PARTS = {"so101": so101, "xl330": xl330, "cube": cube, "depth": depth, "frames": frames}


def show(results: dict[str, Any]) -> None:
    print(f"{'':34}{'reached':>10}{'to beat':>10}   90 % band holds")
    for name, reached in results.get("so101", {}).get("rmse", {}).items():
        part = results["so101"]
        covered = covered_text(part["coverage"][name], part["coverage_interval"][name])
        print(f"so101 {name + ', RMSE %':28}{reached:10.3f}{part['lag_rmse'][name]:10.3f}   {covered}")
    if "cpu_s" in results.get("so101", {}):
        print(f"so101 {'CPU seconds of the fit':28}{results['so101']['cpu_s']:10.1f}")
    for name, result in results.get("xl330", {}).get("by_gain", {}).items():
        label, covered = f"{name} held out, MAE rad", covered_text(result["coverage"], result["coverage_interval"])
        print(f"xl330 {label:28}{result['mae_rad']:10.4f}{XL330_COULOMB_VISCOUS_RAD:10.3f}   {covered}")

    for split, part in results.get("cube", {}).get("by_split", {}).items():
        for name, unit, of in (("width_percent", "place, % of width", "place"), ("degrees", "turn, degrees", "turn")):
            label, limit = f"{split}, {unit}", results["cube"]["to_reach"][name]
            covered = covered_text(part["coverage"][of], part["coverage_interval"][of])
            print(f"cube {label:29}{part[name]:10.2f}{limit:10.1f}   {covered}")
            for start, errors in part.get("one_frame", {}).items():
                print(f"     {'from one frame, ' + start:29}{errors[name]:10.2f}{limit:10.1f}")
            print(f"     {'engine defaults':29}{results['cube']['engine_defaults'][name]:10.2f}")
    for result in results.get("depth", {}).get("by_distance", []):
        label = f"{result['near_m']:.1f} to {result['far_m']:.1f} m, mm"
        print(f"depth noise {label:22}{result['measured_mm']:10.2f} measured, {result['twin_mm']:.2f} in the twin")
    if "frames" in results:
        part = results["frames"]
        print(f"frames, distance in levels: {part['distance_before']:.1f} before, {part['distance_after']:.1f} after")


def covered_text(share: float, interval: list[float]) -> str:
    low, high = interval
    return f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


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
