"""Pages with benchmark results. See build.py. Their tables are made by the modules that are passed in."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from twinloop.fleet.capacity import WORLDS
from twinloop.simulate.engine import MOST_CONTACTS, MOST_ROWS

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"


def benchmarks_page(measurements: ModuleType, timesteps: ModuleType) -> str:
    page = _with_machine(_template("benchmarks"))
    for file in sorted(RESULTS.glob("*.json")):
        content = _results(file.stem)
        page = _with_figures(page, file.stem, content) if isinstance(content, dict) else page
    results = (_results(name) for name in ("learning", "inference", "known_truth", "reality", "throughput"))
    return _filled(page, measurements.tables(*results) | timesteps.tables(_results("timestep")))


def public_robots(tables: ModuleType) -> str:
    """The part of the page of robots on public models."""
    measured = (RESULTS / "public_robots.json").exists()
    return tables.public_robots(_results("public_robots") if measured else None)


def rehearsal_page(truths: str, keys: str, effects: str) -> str:
    """The page of rehearsal cells. The arguments are its tables from the code."""
    return _filled(
        _template("rehearsal"),
        {"TRUTHS": truths, "KEYS": keys, "EFFECTS": effects, "EXPERT": _expert(), "CELLS": _cells()},
    )


def _expert() -> str:
    """Success rates of the scripted expert in each rehearsal cell."""
    measured = _results("rehearsal")
    if "rows" in measured:
        return "\n".join(
            f"| `{row['engine']}:{row['cell']}`, {row['robot']}, {row['task']} | {row['episodes']} "
            f"| {row['succeeded'] / row['episodes']:.2f} | {row['low']:.2f} to {row['high']:.2f} "
            f"| {row['failed_in'] or '–'} |"
            for row in measured["rows"]
        )
    # Results from before cells had engines, robots and tasks.
    cells = [key.removesuffix("_episodes") for key in measured if key.endswith("_episodes")]
    return "\n".join(
        f"| `{cell}` | {measured[f'{cell}_episodes']} | {measured[f'{cell}_rate']:.2f} "
        f"| {measured[f'{cell}_low']:.2f} to {measured[f'{cell}_high']:.2f} | {measured[f'{cell}_failed_in'] or '–'} |"
        for cell in cells
    )


def _cells() -> str:
    """Success rates of each actor in each rehearsal cell."""
    if not (RESULTS / "cells.json").exists():
        return "Not measured yet in full: `python benchmarks/cells.py`."
    rows = _results("cells")["rows"]
    cells = list(next(iter(rows.values())))
    lines = [f"| actor | {' | '.join(f'`{cell}`' for cell in cells)} |", "|---" * (len(cells) + 1) + "|"]
    for actor, row in rows.items():
        rates = (
            f"{rate['successes']}/{rate['episodes']} ({rate['low']:.2f}–{rate['high']:.2f})"
            for rate in (row[cell] for cell in cells)
        )
        lines.append(f"| {actor} | {' | '.join(rates)} |")
    return "\n".join(lines)


def tasks_page(tables: ModuleType) -> str:
    measured = _results("tasks")["cells"] if (RESULTS / "tasks.json").exists() else {}
    whole = _results("all_tasks") if (RESULTS / "all_tasks.json").exists() else {}
    return _filled(_template("tasks"), tables.tables(measured, whole))


def learning_page(tables: ModuleType) -> str:
    return _filled(_template("learning"), tables.tables(_results("learning_tasks")))


def worth_page(tables: ModuleType) -> str:
    names = ("fill", "value", "mix", "anchoring")
    results = [_results(name) if (RESULTS / f"{name}.json").exists() else None for name in names]
    return _filled(_template("worth"), tables.tables(*results))


def scale_page(machines: ModuleType) -> str:
    scaling = _results("scaling")
    page = _filled(_with_machine(_template("scale")), machines.tables(scaling, _results("writer")))
    return _with_figures(page, "scaling", scaling)


def statistics_page(figures: ModuleType) -> str:
    measured = {name: _results(name) for name in ("sequential", "prediction_powered", "monitoring")}
    page = _filled(_template("statistics"), figures.tables(*measured.values()))
    for name, values in measured.items():
        for key, value in values.items():
            if isinstance(value, (int, float)):
                page = page.replace(f"{{{name}.{key}}}", f"{value:,g}")
    return page


def diagnosing_page(diagnoses: ModuleType, reliability: ModuleType) -> str:
    page = _filled(_template("diagnosing"), diagnoses.tables(_results("diagnosis")))
    page = _filled(page, reliability.tables(_results("diagnosis")))
    page = _filled(page, diagnoses.interval_tables(_results("diagnosis_intervals")))
    page = _filled(page, diagnoses.bullet_tables(_results("bullet")))
    measured = (RESULTS / "mobile_diagnosis.json").exists()
    return _filled(page, diagnoses.mobile_tables(_results("mobile_diagnosis") if measured else {}))


def loop_study_page(loops: ModuleType) -> str:
    """The cells of today, and those of the former method."""
    page = _template("loop_study")
    studies = (("loop", "", "loop-study.svg"), ("loop_12000", "FORMER_", "loop-study-12000.svg"))
    for name, prefix, plot in studies:
        parts = [json.loads(file.read_text()) for file in sorted((RESULTS / name).glob("*.json"))]
        tables = loops.tables(_results(name) if (RESULTS / f"{name}.json").exists() else None, plot)
        tables["LOOPS_PARTS"] = loops.parts_table(parts)
        page = _filled(page, {f"{prefix}{key}": text for key, text in tables.items()})
    return page


def reliability_plot(reliability: ModuleType) -> str:
    return reliability.plot(_results("diagnosis"))


def gpu_page() -> str:
    measured, share = _results("engines"), _results("throughput")["ratio"]
    lines = ["| until | episodes | gripping by then | a joint | the object | a finger's force |", "|---" * 6 + "|"]
    for row in measured["errors"]:
        lines.append(
            f"| {row['horizon_s']:g} s | {row['episodes']} | {row['gripping']} | {1e6 * row['joint_rad']:.2f} µrad "
            f"| {1e6 * row['object_m']:.2f} µm | {row['finger_n']:.2f} N |"
        )
    values = {
        "AGREEMENT": "\n".join(lines),
        "CONTACTS": str(MOST_CONTACTS),
        "ROWS": str(MOST_ROWS),
        "WORLDS": f"{WORLDS:,}",
        "SHARE": f"{share:.2f}",
        "CEILING": f"{1 / (1 - share):.0f}",
    }
    return _filled(_with_figures(_template("gpu"), "engines", measured), values)


def reinforcement_page(terms: str) -> str:
    measured = _results("rl")
    values = {
        "TERMS": terms,
        "RATIOS": ", ".join(f"{ratio:.2f}" for ratio in measured["cpu_ratios"]),
        "UPDATE": f"{measured['ppo_update_cpu_share']:.0%}",
    }
    tuning = _results("tuning")
    for name in ("cloned", "tuned"):
        part = tuning[name]
        values[name.upper()] = (
            f"{part['successes']} of {part['trials']} ({100 * part['low']:.0f} to {100 * part['high']:.0f} %)"
        )
    page = _with_figures(_with_figures(_template("reinforcement"), "rl", measured), "tuning", tuning)
    return _filled(page, values)


def _template(name: str) -> str:
    return (DOCS / f"{name}.md.in").read_text(encoding="utf-8")


def _results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _filled(page: str, values: Mapping[str, str]) -> str:
    for placeholder, text in values.items():
        page = page.replace(f"{{{placeholder}}}", text)
    return page


def _with_machine(page: str) -> str:
    return page.replace("{machine}", (RESULTS / "machine.txt").read_text(encoding="utf-8").strip())


def _with_figures(page: str, name: str, results: Mapping[str, Any]) -> str:
    """Replace `{name.key}` with the number or text of each key."""
    for key, value in results.items():
        page = page.replace(f"{{{name}.{key}}}", f"{value:,}" if isinstance(value, (int, float)) else str(value))
    return page
