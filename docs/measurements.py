"""Tables of docs/benchmarks.md, from benchmark results."""

from collections.abc import Iterator, Mapping
from typing import Any


def tables(
    learning: Mapping[str, Any],
    inference: Mapping[str, Any],
    truths: Mapping[str, Any],
    reality: dict[str, dict],
    throughput: Mapping[str, Any],
) -> dict[str, str]:
    """Placeholder -> text."""
    return {
        "THROUGHPUT_TASKS": _throughput(throughput.get("tasks", {})),
        "THROUGHPUT_STEPS": _steps(throughput),
        "LEARNING": _curves(learning["curves"]),
        "LEARNING_FINDINGS": _learning_findings(learning["curves"]),
        "INFERENCE": _latencies(inference["policies"]),
        "KNOWN_TRUTH": _recovered_table(truths["runs"]),
        "REALITY": _reality(reality),
        "REALITY_SUMMARY": _reality_summary(reality),
        "REALITY_CPU": _reality_cpu(reality),
    }


def _throughput(tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """One line per task: rates and ratios of generate and the engine alone."""
    if not tasks:
        return "Not measured yet: `python benchmarks/throughput.py`."
    lines = [
        "| task | things | arms | episode | engine alone | `generate` | ratio | of CPU time |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {row['things']} | {row['arms']} | {row['mean_episode_s']:.1f} s | {row['limit']:.1f} "
        f"| {row['ours']:.1f} | {row['ratio']:.2f} | {row['cpu_ratio']:.2f} |"
        for name, row in tasks.items()
    ]
    return "\n".join(lines)


def _steps(throughput: Mapping[str, Any]) -> str:
    """One line per physics step: simulated seconds per second of generate and of Genesis."""
    lines = ["| physics step | `generate` | Genesis | ratio |", "|---|---|---|---|"]
    lines += [
        f"| {step} ms | {row['simulated_seconds_per_second']:.0f} | {row['genesis']:.0f} | {row['times_genesis']:.1f} |"
        for step, row in throughput.get("steps", {}).items()
    ]
    return "\n".join(lines)


def _curves(curves: dict[str, list[dict]]) -> str:
    sizes = [cell["demonstrations"] for cell in next(iter(curves.values()))]
    lines = [f"| varied | {' | '.join(f'{size:,}' for size in sizes)} |", "|---" * (len(sizes) + 1) + "|"]
    for title, cells in curves.items():
        rates = (f"{100 * c['success']:.1f} % ({100 * c['low']:.0f}–{100 * c['high']:.0f})" for c in cells)
        lines.append(f"| {title} | {' | '.join(rates)} |")
    return "\n".join(lines)


def _learning_findings(curves: dict[str, list[dict]]) -> str:
    """Which variations make a difference: those whose intervals do not overlap."""
    pairs = {
        "Noise on the demonstrator's commands": ("everything, with noise", "everything, without noise"),
        "Randomizing more than the object's place": ("everything, with noise", "the object's place, with noise"),
        "Randomizing the object's place": ("the object's place, with noise", "nothing, with noise"),
    }
    lines = []
    for change, (more, less) in pairs.items():
        apart = [
            f"{with_['demonstrations']:,} ({'better' if with_['low'] > without['high'] else 'worse'})"
            for with_, without in zip(curves[more], curves[less], strict=True)
            if with_["low"] > without["high"] or with_["high"] < without["low"]
        ]
        where = (
            f"makes a difference at {', '.join(apart)} demonstrations" if apart else "makes no measurable difference"
        )
        lines.append(f"- {change} {where}.")
    first, last = curves["everything, with noise"][0], curves["everything, with noise"][-1]
    grows = "More demonstrations help" if last["low"] > first["high"] else "More demonstrations make no difference"
    ends = f"{100 * first['success']:.1f} % from {first['demonstrations']:,}, {100 * last['success']:.1f} % from"
    return "\n".join([*lines, f"- {grows}: {ends} {last['demonstrations']:,}."])


def _reality(results: dict[str, dict]) -> str:
    """One line per quantity. A part that has not been run since the twins last changed has no line."""
    lines = [
        "| held-out logs of | quantity | reached | to beat | the 90 % band covers (interval) |",
        "|---|---|---|---|---|",
    ]
    for logs, quantity, reached, limit, share, (low, high) in _against(results):
        covered = f"{100 * share:.0f} % ({100 * low:.0f}–{100 * high:.0f})"
        lines.append(f"| {logs} | {quantity} | {reached:.3g} | {limit:.3g} | {covered} |")
    return "\n".join(lines)


def _against(results: dict[str, dict]) -> Iterator[tuple[str, str, float, float, float, tuple[float, float]]]:
    """(logs, quantity, reached, to beat, share in the band, interval of the share)"""
    if arm := results.get("so101"):
        for name, reached in arm["rmse"].items():
            limit, interval = arm["lag_rmse"][name], arm["coverage_interval"][name]
            yield f"SO-101: {name}", "RMSE, %", reached, limit, arm["coverage"][name], interval
    if servo := results.get("xl330"):
        for name, fit in servo["by_gain"].items():
            limit, interval = servo["coulomb_viscous_mae_rad"], fit["coverage_interval"]
            yield f"XL330: {name}", "mean error, rad", fit["mae_rad"], limit, fit["coverage"], interval
    if cube := results.get("cube"):
        for name, split in cube["by_split"].items():
            for key, quantity, covered in (
                ("width_percent", "place, % of width", "place"),
                ("degrees", "turn, °", "turn"),
            ):
                yield (
                    f"cube from {cube.get('frames_used', 12)} frames: {name}",
                    quantity,
                    split[key],
                    cube["to_reach"][key],
                    split["coverage"][covered],
                    split["coverage_interval"][covered],
                )


def _reality_summary(results: dict[str, dict]) -> str:
    """Which figures are not reached, which were not run, and the errors of a cube with the engine's default contact."""
    lines = list(_against(results))
    missed = [f"{logs} ({quantity})" for logs, quantity, reached, limit, *_ in lines if reached > limit]
    outside = sum(not 0.85 <= share <= 0.95 for *_, share, _ in lines)
    reaching = sum(low <= 0.95 and high >= 0.85 for *_, (low, high) in lines)
    text = f"Not reached: {', '.join(missed)}." if missed else "All are better than the figures to beat."
    text += f" The band should cover 85 to 95 %; {outside} of {len(lines)} do not. The interval of the coverage reaches"
    text += f" into this range for {reaching} of {len(lines)}."
    if "cube" in results:
        engine = results["cube"]["engine_defaults"]
        text += f" With the engine's default contact the cube misses by {engine['width_percent']:.0f} % and"
        text += f" {engine['degrees']:.0f}°."
        text += _one_frame_sentence(results["cube"])
    absent = [name for name in ("so101", "xl330", "cube") if name not in results]
    return text + (f" Not run since the twins last changed: {', '.join(absent)}." if absent else "")


def _reality_cpu(results: dict[str, dict]) -> str:
    """CPU seconds of the fits."""
    seconds = []
    if "cpu_s" in results.get("so101", {}):
        seconds.append(f"{results['so101']['cpu_s']:.0f} for the arm")
    by_gain = results.get("xl330", {}).get("by_gain", {}).values()
    if by_gain and all("cpu_s" in fit for fit in by_gain):
        ends = sorted(fit["cpu_s"] for fit in by_gain)
        seconds.append(f"{ends[0]:.0f} to {ends[-1]:.0f} for a gain of the servo")
    return f"CPU seconds of a fit: {', '.join(seconds)}." if seconds else ""


def _one_frame_sentence(cube: dict[str, dict]) -> str:
    """The figure to reach starts at one frame; the rows of the table start at the flight of several."""
    splits = [split["one_frame"] for split in cube["by_split"].values() if "one_frame" in split]
    if not splits:
        return ""
    means = {
        (start, key): sum(split[start][key] for split in splits) / len(splits)
        for start in ("as_logged", "expected")
        for key in ("width_percent", "degrees")
    }
    logged, expected = (
        f"{means[start, 'width_percent']:.1f} % and {means[start, 'degrees']:.1f}°"
        for start in ("as_logged", "expected")
    )
    return (
        " The figure to reach starts at one frame of a toss. From one frame (means of the thirds), the cube misses by"
        f" {logged} with the logged velocities, and by {expected} with the mean motion over their noise."
    )


def _latencies(policies: dict[str, dict[str, dict[str, float]]]) -> str:
    lines = ["| policy | torch | ONNX Runtime |", "|---|---|---|"]
    for name, engines in policies.items():
        latencies = (f"{engines[key]['median_ms']:.2f} / {engines[key]['p99_ms']:.2f}" for key in ("torch", "onnx"))
        lines.append(f"| `{name}` | {' | '.join(latencies)} |")
    return "\n".join(lines)


def _recovered_table(runs: dict[str, dict[str, dict]]) -> str:
    """How many hidden values were recovered, one row per fit variable."""
    lines = [
        "| fit variable | hidden | within 5 % | within its interval | neither | unknown |",
        "|---|---|---|---|---|---|",
    ]
    for name in sorted({name for run in runs.values() for name in run}):
        values = [run[name] for run in runs.values() if name in run]
        estimates = [value for value in values if "unknown" not in value]
        near, within = (sum(estimate[key] for estimate in estimates) for key in ("near", "within"))
        missed = sum(not estimate["recovered"] for estimate in estimates)
        row = (name.rpartition(".")[2], len(values), near, within, missed, len(values) - len(estimates))
        lines.append("| `{}` | {} | {} | {} | {} | {} |".format(*row))
    return "\n".join(lines)
