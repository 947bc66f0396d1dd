"""Write the generated pages of the docs from the code that they describe: `make docs`. A test compares them."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from twinloop.calibrate.bench_file import BenchFile
from twinloop.cli.schema import SCHEMAS
from twinloop.config.reference import reference, reference_rows
from twinloop.curate.checks import CHECKS
from twinloop.curate.failure import DIVERGED, PUSHED, TIMEOUT
from twinloop.dashboard.effects.looks import LOOKS, range_of, setting_of
from twinloop.dashboard.effects.measures import Measure
from twinloop.dataset.columns import EPISODE_COLUMNS
from twinloop.dataset.ingest.mapping_file import MappingFile
from twinloop.deploy.lerobot.config_file import LerobotConfig
from twinloop.deploy.rehearsal.cell_file import CellFile
from twinloop.deploy.rehearsal.truth import TRUTHS
from twinloop.pipeline.generate import WORLDS
from twinloop.randomize.parameter import GAPS, Parameter
from twinloop.randomize.table import TABLE
from twinloop.run.config import RunConfig, config_from_text
from twinloop.simulate.engine import MOST_CONTACTS, MOST_ROWS
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots import robots
from twinloop.twin.shapes import SHAPES
from twinloop.twin.tasks.handover import HANDOVER
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.touch import ACROSS, ALONG, TAXELS

DOCS = Path(__file__).parent


def parameters_page() -> str:
    lines = [
        "# Parameters",
        "",
        "Everything that a config may vary. `make docs` writes this page from `twinloop/randomize/`; do not edit it.",
        "A parameter that is not named keeps its nominal value. A value outside the plausible range is refused.",
        "",
        "| parameter | section | gap | unit | changes | nominal | sensible range | source | plausible |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in TABLE:
        name = f"[`{row.name}`](#{row.name})" + (f" ({', '.join(row.elements)})" if row.elements else "")
        sensible = ", ".join(row.words) or _range(row.sensible)
        if row.pool or row.chance is not None:
            sensible = f"{row.sensible[0] if row.chance is None else row.chance:g}"
        sensible += "" if row.realistic else " (not in `realistic`)"
        touches = row.touches + (f"; needs `{row.needs}`" if row.needs else "")
        lines.append(
            f"| {name} | {row.group} | {row.gap} | {row.unit} | {touches} | {row.nominal:g} | {sensible} "
            f"| {row.source} | {_range(row.plausible)} |"
        )
    return "\n".join([*lines, *_effects()]) + "\n"


def _effects() -> list[str]:
    """One section per gap, with the image of every row that has one. `make pictures` draws the images."""
    index = json.loads((DOCS / "pictures" / "rows" / "index.json").read_text(encoding="utf-8"))
    lines = ["", *(DOCS / "effects.md.in").read_text(encoding="utf-8").splitlines()]
    for gap in GAPS:
        lines += ["", f"## The {gap} gap"]
        for row in TABLE:
            if row.gap == gap and row.name in index:
                lines += ["", f"### {row.name}", "", _effect_text(row, index[row.name]["look"]), ""]
                lines.append(f"![What {row.name} does](pictures/rows/{index[row.name]['file']})")
    return lines


def _effect_text(row: Parameter, look: str) -> str:
    low, high = range_of(row)
    measure = LOOKS.get(look)
    what = f" Shown: {measure.label.partition(' (')[0]}." if isinstance(measure, Measure) else ""
    why = setting_of(row).why
    touches = (
        f"{row.touches[0].upper()}{row.touches[1:]}, from {low:g} to {high:g} {row.unit if row.unit != '1' else ''}"
    )
    return f"{touches.rstrip()}.{what}" + (f" {why}" if why else "")


def dataset_page() -> str:
    rows = [
        f"| `{column.name}` | {column.type or 'any'} | {column.source} | {column.help} |" for column in EPISODE_COLUMNS
    ]
    table = "\n".join(["| column | type | datasets | content |", "|---|---|---|---|", *rows])
    return (DOCS / "dataset.md.in").read_text(encoding="utf-8").replace("{COLUMNS}", table)


def config_page() -> str:
    checks = "\n".join(f"{number}. `{check.name}`: {check.asks}" for number, check in enumerate(CHECKS, start=1))
    return (
        (DOCS / "config.md.in")
        .read_text(encoding="utf-8")
        .replace("{DEFAULTS}", config_from_text("scene: {}", name="defaults", folder=DOCS).to_yaml())
        .replace("{SHAPES}", ", ".join(f"`{name}`" for name in SHAPES))
        .replace("{TAXELS}", str(TAXELS))
        .replace("{ALONG}", str(ALONG))
        .replace("{ACROSS}", str(ACROSS))
        .replace("{ROBOTS}", " or ".join(f"`{name}`" for name in robots()))
        .replace("{OBJECTS}", ", ".join(f"`{name}`" for name in OBJECTS))
        .replace("{CHECKS}", checks)
        .replace("{REFERENCE}", _reference())
        .replace("{FAILURES}", _failures())
    )


def _reference() -> str:
    """A table of keys for every section that is a record."""
    lines: list[str] = []
    for key, section in reference(RunConfig).items():
        lines += [f"### {key}", "", "| key | default | valid | meaning |", "|---|---|---|---|"]
        lines += [f"| `{row.key}` | {row.default} | {row.valid} | {row.help} |" for row in section]
        lines.append("")
    return "\n".join(lines).rstrip()


def _keys(record: type) -> str:
    """One table of all keys of a file."""
    lines = ["| key | default | valid | meaning |", "|---|---|---|---|"]
    lines += [f"| `{row.key}` | {row.default} | {row.valid} | {row.help} |" for row in reference_rows(record)]
    return "\n".join(lines)


def _schema_page(schema: Callable[[], dict]) -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def benchmarks_page() -> str:
    page = (DOCS / "benchmarks.md.in").read_text(encoding="utf-8")
    results = DOCS.parent / "benchmarks" / "results"
    page = page.replace("{machine}", (results / "machine.txt").read_text(encoding="utf-8").strip())
    for file in sorted(results.glob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for key, value in content.items() if isinstance(content, dict) else ():
            figure = f"{value:,}" if isinstance(value, (int, float)) else str(value)
            page = page.replace(f"{{{file.stem}.{key}}}", figure)
    learning, inference, truths, reality = (
        json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("learning", "inference", "known_truth", "reality")
    )
    return (
        page.replace("{LEARNING}", _curves(learning["curves"]))
        .replace("{LEARNT}", _learning_findings(learning["curves"]))
        .replace("{INFERENCE}", _latencies(inference["policies"]))
        .replace("{KNOWN_TRUTH}", _recovered_table(truths["runs"]))
        .replace("{REALITY}", _reality(reality))
        .replace("{REALITY_TOLD}", _reality_told(reality))
        .replace("{REALITY_CPU}", _reality_cpu(reality))
    )


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
    for what, (more, less) in pairs.items():
        apart = [
            f"{with_['demonstrations']:,} ({'better' if with_['low'] > without['high'] else 'worse'})"
            for with_, without in zip(curves[more], curves[less], strict=True)
            if with_["low"] > without["high"] or with_["high"] < without["low"]
        ]
        where = (
            f"makes a difference at {', '.join(apart)} demonstrations" if apart else "makes no measurable difference"
        )
        lines.append(f"- {what} {where}.")
    first, last = curves["everything, with noise"][0], curves["everything, with noise"][-1]
    grows = "More demonstrations help" if last["low"] > first["high"] else "More demonstrations make no difference"
    ends = f"{100 * first['success']:.1f} % from {first['demonstrations']:,}, {100 * last['success']:.1f} % from"
    return "\n".join([*lines, f"- {grows}: {ends} {last['demonstrations']:,}."])


def _reality(results: dict[str, dict]) -> str:
    """A line a quantity; a part that has not been run since the twins last changed has none."""
    lines = ["| held-out logs of | quantity | reached | to beat | the 90 % band holds |", "|---|---|---|---|---|"]
    for of, what, reached, limit, share in _against(results):
        lines.append(f"| {of} | {what} | {reached:.3g} | {limit:.3g} | {100 * share:.0f} % |")
    return "\n".join(lines)


def _against(results: dict[str, dict]) -> Iterator[tuple[str, str, float, float, float]]:
    """(logs, quantity, reached, to beat, share in the band)"""
    if arm := results.get("so101"):
        for name, reached in arm["rmse"].items():
            yield f"SO-101: {name}", "RMSE, %", reached, arm["lag_rmse"][name], arm["coverage"][name]
    if servo := results.get("xl330"):
        for name, each in servo["by_gain"].items():
            limit = servo["coulomb_viscous_mae_rad"]
            yield f"XL330: {name}", "mean error, rad", each["mae_rad"], limit, each["coverage"]
    if cube := results.get("cube"):
        for name, each in cube["by_split"].items():
            for key, what, of in (("width_percent", "place, % of width", "place"), ("degrees", "turn, °", "turn")):
                yield (
                    f"cube from {cube.get('frames_used', 12)} frames: {name}",
                    what,
                    each[key],
                    cube["to_reach"][key],
                    each["coverage"][of],
                )


def _reality_told(results: dict[str, dict]) -> str:
    """What falls short, what was not run, and for comparison what a cube of the engine's defaults misses."""
    lines = list(_against(results))
    missed = [f"{of} ({what})" for of, what, reached, limit, _ in lines if reached > limit]
    outside = sum(not 0.85 <= share <= 0.95 for *_, share in lines)
    told = f"Not reached: {', '.join(missed)}." if missed else "These are better than what they have to beat."
    told += f" The band should hold 85 to 95 %; {outside} of {len(lines)} do not."
    if "cube" in results:
        engine = results["cube"]["engine_defaults"]
        told += f" With the engine's default contact the cube misses by {engine['width_percent']:.0f} % and"
        told += f" {engine['degrees']:.0f}°."
        told += _one_frame_told(results["cube"])
    absent = [name for name in ("so101", "xl330", "cube") if name not in results]
    return told + (f" Not run since the twins last changed: {', '.join(absent)}." if absent else "")


def _reality_cpu(results: dict[str, dict]) -> str:
    """CPU seconds of the fits."""
    seconds = []
    if "cpu_s" in results.get("so101", {}):
        seconds.append(f"{results['so101']['cpu_s']:.0f} for the arm")
    by_gain = results.get("xl330", {}).get("by_gain", {}).values()
    if by_gain and all("cpu_s" in each for each in by_gain):
        ends = sorted(each["cpu_s"] for each in by_gain)
        seconds.append(f"{ends[0]:.0f} to {ends[-1]:.0f} for a gain of the servo")
    return f"CPU seconds of a fit: {', '.join(seconds)}." if seconds else ""


def _one_frame_told(cube: dict[str, dict]) -> str:
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


def _failures() -> str:
    lines = ["| task | failure | what happened |", "|---|---|---|"]
    lines += [f"| any | `{DIVERGED}` | the physics diverged |"]
    lines += [f"| any | `{PUSHED}` | the robot pressed on a person harder than the limit |"]
    for task in (PICK_AND_PLACE, HANDOVER):
        lines += [f"| {task.name} | `{failure.name}` | {failure.means} |" for failure in task.failures]
    lines += [f"| any | `{TIMEOUT}` | time ran out |"]
    return "\n".join(lines)


def rehearsal_page() -> str:
    rows = [
        f"| `{row.name}` | {row.gap} | {row.unit} | {row.touches} | {_fixed(row.nominal)} | {_fixed(row.worst)} "
        f"| {_range(row.plausible)} |"
        for row in TRUTHS
    ]
    heads = ["| row | gap | unit | touches | nominal | worst | allowed |", "|---|---|---|---|---|---|---|"]
    measured = json.loads((DOCS.parent / "benchmarks" / "results" / "rehearsal.json").read_text(encoding="utf-8"))
    cells = [key.removesuffix("_episodes") for key in measured if key.endswith("_episodes")]
    expert = [
        f"| `{cell}` | {measured[f'{cell}_episodes']} | {measured[f'{cell}_rate']:.2f} "
        f"| {measured[f'{cell}_low']:.2f} to {measured[f'{cell}_high']:.2f} | {measured[f'{cell}_failed_in'] or '–'} |"
        for cell in cells
    ]
    page = (DOCS / "rehearsal.md.in").read_text(encoding="utf-8")
    return (
        page.replace("{TRUTHS}", "\n".join(heads + rows))
        .replace("{EXPERT}", "\n".join(expert))
        .replace("{CELLS}", _cells())
        .replace("{KEYS}", _keys(CellFile))
    )


def _cells() -> str:
    """Success rates of each actor in each rehearsal cell."""
    path = DOCS.parent / "benchmarks" / "results" / "cells.json"
    if not path.exists():
        return "Not measured yet in full: `python benchmarks/cells.py`."
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    cells = list(next(iter(rows.values())))
    lines = [f"| who | {' | '.join(f'`{cell}`' for cell in cells)} |", "|---" * (len(cells) + 1) + "|"]
    for who, row in rows.items():
        told = (
            f"{each['successes']}/{each['episodes']} ({each['low']:.2f}–{each['high']:.2f})"
            for each in (row[cell] for cell in cells)
        )
        lines.append(f"| {who} | {' | '.join(told)} |")
    return "\n".join(lines)


def hardware_page() -> str:
    example = (DOCS.parent / "examples" / "so101.yaml").read_text(encoding="utf-8")
    page = (DOCS / "hardware.md.in").read_text(encoding="utf-8").replace("{SO101}", example)
    return page.replace("{KEYS}", _keys(LerobotConfig))


def keys_page(name: str, record: type) -> str:
    """A page with a table of all keys of a file."""
    return (DOCS / f"{name}.md.in").read_text(encoding="utf-8").replace("{KEYS}", _keys(record))


def extending_page() -> str:
    """The files of the example package, which a test installs and runs, are shown as they are."""
    package = DOCS.parent / "examples" / "plugin"
    page = (DOCS / "extending.md.in").read_text(encoding="utf-8")
    project = (package / "pyproject.toml").read_text(encoding="utf-8")
    start, stop = project.index("[project.entry-points"), project.index("[tool.setuptools")
    page = page.replace("{PYPROJECT}", project[start:stop].strip())
    for file in sorted((package / "twinloop_example").glob("[a-z]*.py")):
        page = page.replace(f"{{{file.stem}}}", file.read_text(encoding="utf-8").strip())
    return page


def _table_module(name: str) -> ModuleType:
    """Import a module of this folder that makes tables."""
    spec = spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def gate_page() -> str:
    return (DOCS / "gate.md.in").read_text(encoding="utf-8").replace("{RULES}", _rules())


def _rules() -> str:
    """The rules of `rules.yaml`, a row for each key: its value is the default, its comment the description."""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    section = ""
    for line in (DOCS.parent / "twinloop" / "gate" / "rules.yaml").read_text(encoding="utf-8").splitlines():
        key, colon, rest = line.partition(":")
        value, _, comment = (part.strip() for part in rest.partition("#"))
        if not colon or line.startswith("#"):
            continue
        if line.startswith(" "):
            lines.append(f"| `{section}.{key.strip()}` | {value} | {comment} |")
        else:
            section = key
            lines.append(f"| **{section}** | | {comment} |")
    return "\n".join(lines)


def scale_page() -> str:
    """The tables are made by docs/machines.py."""
    results = DOCS.parent / "benchmarks" / "results"
    scaling, writer = (
        json.loads((results / f"{name}.json").read_text(encoding="utf-8")) for name in ("scaling", "writer")
    )
    page = (DOCS / "scale.md.in").read_text(encoding="utf-8")
    page = page.replace("{machine}", (results / "machine.txt").read_text(encoding="utf-8").strip())
    for placeholder, told in _table_module("machines").tables(scaling, writer).items():
        page = page.replace(f"{{{placeholder}}}", told)
    for key, value in scaling.items():
        page = page.replace(f"{{scaling.{key}}}", f"{value:,}" if isinstance(value, (int, float)) else value)
    return page


def statistics_page() -> str:
    """The tables are made by docs/figures.py."""
    made = _table_module("figures")
    results = DOCS.parent / "benchmarks" / "results"
    names = ("sequential", "prediction_powered", "monitoring")
    measured = {name: json.loads((results / f"{name}.json").read_text(encoding="utf-8")) for name in names}
    page = (DOCS / "statistics.md.in").read_text(encoding="utf-8")
    for placeholder, told in made.tables(*measured.values()).items():
        page = page.replace(f"{{{placeholder}}}", told)
    for name, values in measured.items():
        for key, value in values.items():
            if isinstance(value, (int, float)):
                page = page.replace(f"{{{name}.{key}}}", f"{value:,g}")
    return page


def diagnosing_page() -> str:
    """The tables are made by docs/diagnoses.py and docs/loops.py."""
    page = (DOCS / "diagnosing.md.in").read_text(encoding="utf-8")
    for made, name in (("diagnoses", "diagnosis"), ("loops", "loop")):
        results = json.loads((DOCS.parent / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
        for placeholder, told in _table_module(made).tables(results).items():
            page = page.replace(f"{{{placeholder}}}", told)
    return page


def _fixed(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:g}" if bounds[0] == bounds[1] else _range(bounds)


def _range(bounds: tuple[float, float]) -> str:
    return f"[{bounds[0]:g}, {bounds[1]:g}]"


def gpu_page() -> str:
    results = DOCS.parent / "benchmarks" / "results"
    measured, throughput = (
        json.loads((results / f"{name}.json").read_text(encoding="utf-8")) for name in ("engines", "throughput")
    )
    share = throughput["ratio"]
    page = (DOCS / "gpu.md.in").read_text(encoding="utf-8")
    lines = ["| until | episodes | gripping by then | a joint | the object | a finger's force |", "|---" * 6 + "|"]
    for row in measured["errors"]:
        lines.append(
            f"| {row['horizon_s']:g} s | {row['episodes']} | {row['gripping']} | {1e6 * row['joint_rad']:.2f} µrad "
            f"| {1e6 * row['object_m']:.2f} µm | {row['finger_n']:.2f} N |"
        )
    for key, value in measured.items():
        page = page.replace(f"{{engines.{key}}}", f"{value:,}" if isinstance(value, (int, float)) else str(value))
    return (
        page.replace("{AGREEMENT}", "\n".join(lines))
        .replace("{CONTACTS}", str(MOST_CONTACTS))
        .replace("{ROWS}", str(MOST_ROWS))
        .replace("{WORLDS}", f"{WORLDS:,}")
        .replace("{SHARE}", f"{share:.2f}")
        .replace("{CEILING}", f"{1 / (1 - share):.0f}")
    )


PAGES = {
    "api.md": lambda: _table_module("api_page").api_page(),
    "parameters.md": parameters_page,
    **{f"schema/{name}.json": partial(_schema_page, schema) for name, schema in SCHEMAS.items()},
    "config.md": config_page,
    "dataset.md": dataset_page,
    "benchmarks.md": benchmarks_page,
    "rehearsal.md": rehearsal_page,
    "gpu.md": gpu_page,
    "hardware.md": hardware_page,
    "extending.md": extending_page,
    "ingesting.md": lambda: keys_page("ingesting", MappingFile),
    "calibrating.md": lambda: keys_page("calibrating", BenchFile),
    "statistics.md": statistics_page,
    "scale.md": scale_page,
    "gate.md": gate_page,
    "diagnosing.md": diagnosing_page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
