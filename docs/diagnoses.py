"""Tables of docs/diagnosing.md: how often a diagnosis names the open gap, and how its intervals were calibrated."""

from collections.abc import Iterator, Mapping
from typing import Any

GOALS = {
    "open gap first, if it costs more than five points": "85 %",
    "open gap among the first two": "95 %",
    "false alarms (a shut gap above 0.5)": "below 5 %",
    "unmodelled named, if only an effect costs more than ten points": "80 %",
    "unmodelled named in empty cells": "none",
    "rows within their 90 % interval": "85–95 %",
}


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text."""
    rows = results["rows"]
    return {
        "DIAGNOSIS_TALLY": "\n".join(_tally(results["tally"])),
        "DIAGNOSIS_CELLS": "\n".join(_cells(rows)),
        "diagnosis.episodes": str(results["episodes"]),
        "diagnosis.cells": str(len(rows)),
        "diagnosis.planned": str(results["planned"]),
        "diagnosis.scenes": ", ".join(f"`{scene}`" for scene in sorted({row["where"] for row in rows})),
        "diagnosis.seeds": results["seeds"],
    }


def interval_tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text, for the calibration of intervals."""
    shares = {name: share for name, share in results.items() if isinstance(share, dict) and "hits" in share}
    factors = ", ".join(f"{gap} {factor:g}" for gap, factor in results["factors"].items())
    return {
        "INTERVALS_TALLY": "\n".join(_tally(shares)),
        "INTERVALS_RANKS": "\n".join(_ranks(results["rank of the truth, in fifths"])),
        "intervals.robots": str(results["robots"]),
        "intervals.cells": str(results["cells"]),
        "intervals.rows": str(results["rows"]),
        "intervals.factors": factors,
    }


def bullet_tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text, for the robot in PyBullet."""
    lines = [
        "| open | success | named first (points, probability) | unmodelled |",
        "|---|---|---|---|",
    ]
    for row in results["rows"]:
        numbers = ", ".join(f"`{name}` {value:g}" for name, value in row["truth"].items())
        true = f"{', '.join(row['gaps']) or row['kind']}: {numbers}" if numbers else "nothing"
        lines.append(f"| {true} | {100 * row['success']:.0f} % | {_first(row)} |")
    return {
        "BULLET_TALLY": "\n".join(_tally(results["tally"])), "BULLET_CELLS": "\n".join(lines),
        "bullet.seed": str(results["seed"]), "bullet.episodes": str(results["episodes"]),
    }  # fmt: skip


def mobile_tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text, for robots with legs and wheels."""
    if not results:
        return {"MOBILE": "Not measured yet: `python benchmarks/mobile_diagnosis.py`."}
    lines = ["| robot, engine of the cells | cells | open gap first | of visible cells | visible gap above 0.5 "
             "| shut gap above 0.5 | first, by gap |", "|---" * 7 + "|"]  # fmt: skip
    for name, measured in results.items():
        tally = measured["tally"]
        shares = [_share(tally[key]) for key in ("first", "visible_first", "visible_named", "false_alarms")]
        by_gap = ", ".join(f"{gap} {hits} of {count}" for gap, (hits, count) in tally["by_gap"].items() if count)
        robot, engine = name.split("/")
        lines.append(f"| `{robot}`, {engine} | {len(measured['cells'])} | {' | '.join(shares)} | {by_gap} |")
    about = "; ".join(f"{name}: {row['seed']}" for name, row in results.items())
    lines += ["", f"Seeds of the cells: {about}. The cells were run once, with a method that was frozen before."]
    return {"MOBILE": "\n".join(lines)}


def _share(rate: Mapping[str, Any]) -> str:
    return f"{rate['hits']} of {rate['of']} ({100 * rate['low']:.0f}–{100 * rate['high']:.0f} %)"


def _ranks(counts: list[int]) -> Iterator[str]:
    """How often the truth was in each fifth of the posterior samples, with a bar."""
    yield "| fifth of the samples, from the lowest | rows | |"
    yield "|---|---|---|"
    for number, count in enumerate(counts, start=1):
        yield f"| {number} | {count} | {'█' * round(40 * count / max(sum(counts), 1))} |"


def _tally(tally: Mapping[str, Any]) -> Iterator[str]:
    yield "| | hits | interval | goal |"
    yield "|---|---|---|---|"
    for name, share in tally.items():
        interval = f"{100 * share['low']:.0f}–{100 * share['high']:.0f} %" if share["cases"] else "–"
        yield f"| {name} | {share['hits']} of {share['cases']} | {interval} | {GOALS.get(name, '–')} |"


def _cells(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Every cell: what is open, success, and the two gaps that come first."""
    yield "| engine, robot and task | open | success | named first (points, probability) | unmodelled |"
    yield "|---|---|---|---|---|"
    for row in rows:
        opened = [*row["gaps"].items(), *row["effects"].items()]
        true = " and ".join(f"{name.replace('_', ' ')} {size:g}" for name, size in opened) or "nothing"
        yield f"| {row['engine']}, {row['where']} | {true} | {100 * row['success']:.0f} % | {_first(row)} |"


def _first(row: Mapping[str, Any]) -> str:
    """Two cells of a table: the two gaps that are named first, and whether something unmodelled is named."""
    first = ", ".join(f"{gap} ({row['points'][gap]:.0f}, {row['probability'][gap]:.2f})" for gap in row["ranked"][:2])
    return f"{first} | {'named' if row['unmodelled']['present'] else '–'}"
