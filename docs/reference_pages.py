"""Pages that are generated from the code that they describe. See build.py."""

import json
from collections.abc import Callable
from pathlib import Path

from twinloop.config.reference import reference, reference_rows
from twinloop.curate.checks import CHECKS
from twinloop.curate.failure import DIVERGED, PUSHED, TIMEOUT
from twinloop.dashboard.effects.driving import DRIVE_MEASURES
from twinloop.dashboard.effects.looks import LOOKS, range_of, setting_of
from twinloop.dashboard.effects.measures import Measure
from twinloop.dashboard.effects.mobile_measures import MobileMeasure
from twinloop.dashboard.effects.walking import WALK_MEASURES
from twinloop.dataset.columns import EPISODE_COLUMNS
from twinloop.deploy.lerobot.config_file import LerobotConfig
from twinloop.deploy.rehearsal.effects import EFFECTS
from twinloop.deploy.rehearsal.truth import TRUTHS
from twinloop.environments.arm import REWARDS
from twinloop.environments.table import BUILTIN as BUILTIN_TERMS
from twinloop.randomize.parameter import GAPS, Parameter
from twinloop.randomize.table import TABLE
from twinloop.run.config import RunConfig, config_from_text
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robot_files.mjcf import MjcfRobot
from twinloop.twin.robot_parts.grippers import GRIPPERS
from twinloop.twin.robot_summary import summary_of
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
    measure = LOOKS.get(look) or (WALK_MEASURES | DRIVE_MEASURES).get(look)
    quantity = f" Shown: {measure.label.partition(' (')[0]}." if isinstance(measure, (Measure, MobileMeasure)) else ""
    why = setting_of(row).why
    touches = (
        f"{row.touches[0].upper()}{row.touches[1:]}, from {low:g} to {high:g} {row.unit if row.unit != '1' else ''}"
    )
    return f"{touches.rstrip()}.{quantity}" + (f" {why}" if why else "")


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


def keys_table(record: type) -> str:
    """One table of all keys of a file."""
    lines = ["| key | default | valid | meaning |", "|---|---|---|---|"]
    lines += [f"| `{row.key}` | {row.default} | {row.valid} | {row.help} |" for row in reference_rows(record)]
    return "\n".join(lines)


def schema_page(schema: Callable[[], dict]) -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _failures() -> str:
    lines = ["| task | failure | what happened |", "|---|---|---|"]
    lines += [f"| any | `{DIVERGED}` | the physics diverged |"]
    lines += [f"| any | `{PUSHED}` | the robot pressed on a person harder than the limit |"]
    for task in (PICK_AND_PLACE, HANDOVER):
        lines += [f"| {task.name} | `{failure.name}` | {failure.means} |" for failure in task.failures]
    lines += [f"| any | `{TIMEOUT}` | time ran out |"]
    return "\n".join(lines)


def hardware_page() -> str:
    example = (DOCS.parent / "examples" / "so101.yaml").read_text(encoding="utf-8")
    page = (DOCS / "hardware.md.in").read_text(encoding="utf-8").replace("{SO101}", example)
    return page.replace("{KEYS}", keys_table(LerobotConfig))


def keys_page(name: str, record: type) -> str:
    """A page with a table of all keys of a file."""
    return (DOCS / f"{name}.md.in").read_text(encoding="utf-8").replace("{KEYS}", keys_table(record))


def robots_page(public_robots: str) -> str:
    lines = ["| robot | axes | reach | payload | gripper opening | source |", "|---|---|---|---|---|---|"]
    for robot in robots().values():
        summary = summary_of(robot)
        payload = "–" if summary.payload_kg is None else f"{summary.payload_kg:g} kg"
        lines.append(
            f"| `{summary.name}` | {summary.axes} | {summary.reach_m:g} m | {payload} "
            f"| {1000 * summary.opening_m:.0f} mm | {summary.source} |"
        )
    page = (DOCS / "robots.md.in").read_text(encoding="utf-8")
    page = page.replace("{TABLE}", "\n".join(lines)).replace("{GRIPPERS}", ", ".join(f"`{name}`" for name in GRIPPERS))
    return page.replace("{KEYS}", keys_table(MjcfRobot)).replace("{PUBLIC}", public_robots)


def terms_table() -> str:
    """The terms of environments, and the default weights of arms."""
    lines = ["| term | kind | robots | unit | default weight (arm) | meaning |", "|---|---|---|---|---|---|"]
    weights = {name: f"{weight:g}" for name, weight in REWARDS.items()}
    for term in BUILTIN_TERMS:
        robots = ", ".join(term.robots) or "all"
        weight = weights.get(term.name, "") if term.kind == "reward" and "arm" in (term.robots or ("arm",)) else ""
        meaning = term.help.replace("|", "\\|")
        lines.append(f"| `{term.name}` | {term.kind} | {robots} | {term.unit} | {weight} | {meaning} |")
    return "\n".join(lines)


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


def _fixed(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:g}" if bounds[0] == bounds[1] else _range(bounds)


def _range(bounds: tuple[float, float]) -> str:
    return f"[{bounds[0]:g}, {bounds[1]:g}]"


def effects_table() -> str:
    """The effects of a rehearsal cell that no row describes."""
    rows = [f"| `{effect.name}` | {effect.help} |" for effect in EFFECTS]
    return "\n".join(["| effect | at size 1 |", "|---|---|", *rows])


def truths_table() -> str:
    """The rows of a rehearsal cell."""
    rows = [
        f"| `{row.name}` | {row.gap} | {row.unit} | {row.touches} | {_fixed(row.nominal)} | {_fixed(row.worst)} "
        f"| {_range(row.plausible)} |"
        for row in TRUTHS
    ]
    return "\n".join(["| row | gap | unit | touches | nominal | worst | allowed |", "|---" * 7 + "|", *rows])
