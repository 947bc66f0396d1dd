"""The randomization section: `[low, high]`, a number, or a mapping that names another distribution."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from twinloop.config.kinds import Kind
from twinloop.config.section import Section, is_number
from twinloop.errors import nearest
from twinloop.randomize.distribution import (
    Argument,
    Choice,
    Constant,
    Distribution,
    LogUniform,
    Normal,
    Truncated,
    Uniform,
    choice_of,
)
from twinloop.randomize.parameter import GROUPS, Parameter
from twinloop.randomize.table import BY_NAME, TABLE
from twinloop.twin.robot import Robot

# name in the file -> (class, its arguments in the order of the short list form)
FORMS: dict[str, tuple[type[Distribution], tuple[str, ...]]] = {
    "uniform": (Uniform, ("low", "high")),
    "log_uniform": (LogUniform, ("low", "high")),
    "normal": (Normal, ("mean", "std")),
    "truncated": (Truncated, ("mean", "std", "low", "high")),
    "choice": (Choice, ("values", "weights")),
}

# Common mistakes of unit: the unit that was meant, and the factor to the unit of the key.
UNIT_MISTAKES = {
    "kg": (("grams", 1e-3),),
    "cm": (("millimetres", 0.1), ("metres", 100.0)),
    "mm": (("metres", 1000.0),),
    "°": (("radians", 57.29578),),
    "1": (("per cent", 0.01),),
    "×": (("per cent", 0.01),),
}


PRESETS = ("realistic",)
THING_NAME, JOINT_NAME = "[a-z][a-z0-9_]*", "[^.]+"
ARGUMENT, DISTRIBUTION = "#/$defs/argument", "#/$defs/distribution"


def ordered_rows(rows: Mapping[str, Distribution]) -> dict[str, Distribution]:
    """Rows in the order of the table; those of single things after that of all things."""
    order = {parameter.name: number for number, parameter in enumerate(TABLE)}
    return {name: rows[name] for name in sorted(rows, key=lambda name: (order[name.partition(".")[0]], name))}


def _part_and_row(rows: Section, key: str, things: tuple[str, ...], joints: tuple[str, ...]) -> tuple[str, str]:
    """The thing, joint or element that a key names, or "", and the row."""
    part, dot, name = key.rpartition(".")
    if not dot:
        return "", key
    parameter = BY_NAME.get(name)
    if parameter is not None and part in parameter.elements:
        return part, name
    if parameter is not None and parameter.elements and not (parameter.of_thing or parameter.of_joint):
        raise rows.error(key, f"names the element {part!r}; {nearest(part, parameter.elements)}")
    of_joint = parameter is not None and parameter.of_joint
    if part not in (joints if of_joint else things):
        what = "joint" if of_joint else "thing"
        raise rows.error(key, f"names the {what} {part!r}; {nearest(part, joints if of_joint else things)}")
    return part, name


def sensible(
    row: Parameter, robot: Robot | None, ranges: Mapping[str, tuple[float, float]] | None = None
) -> Distribution:
    """The distribution of a row in presets.

    Args:
        ranges: row -> range, for rows whose range in the table does not suit the scene.
    """
    low, high = (ranges or {}).get(row.name, row.sensible_for(robot))
    if row.chance is not None:
        return _happens(row.chance)
    return choice_of(tuple(range(int(high)))) if row.pool else Uniform(float(low), float(high))


def _happens(probability: float) -> Choice:
    return Choice((0.0, 1.0), (1 - probability, probability))


def _unknown(name: str, group: str) -> str:
    elsewhere = BY_NAME.get(name)
    if elsewhere is not None:
        return f"belongs under randomization.{elsewhere.group}"
    return f"is not a parameter; {nearest(name, (row.name for row in TABLE if row.group == group))}"


def _read(section: Section, parameter: Parameter, key: str) -> Distribution:
    value = section.raw(key)
    low, high = parameter.plausible
    if parameter.pool:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise section.error(
                key, f"is {value!r}; a number of {parameter.unit} from {low:g} to {high:g} was expected"
            )
        return choice_of(tuple(range(value)))
    if parameter.words:
        return _of_words(section, parameter, key, value)
    if parameter.chance is not None:
        if not is_number(value) or not 0 <= value <= 1:
            raise section.error(key, f"is {value!r}; a probability from 0 to 1 was expected")
        return _happens(float(value))
    distribution = _distribution(section, key, value)
    least, most = distribution.support()
    if least < low or most > high:
        outside = least if least < low else most
        raise section.error(
            key,
            f"reaches {outside:g}, but it is {parameter.touches} in {parameter.unit}, "
            f"plausible from {low:g} to {high:g}{_unit_hint(parameter, least, most)}",
        )
    return distribution


def _of_words(section: Section, parameter: Parameter, key: str, value: Any) -> Choice:
    """A word, a list of words, or `{choice: ...}` of words with weights; the values are indices into `words`."""
    known = parameter.words
    if isinstance(value, dict) and set(value) == {"choice"}:
        value = value["choice"]
    given = value if isinstance(value, dict) else {"values": [value] if isinstance(value, str) else value}
    names = given.get("values")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise section.error(key, f"is {value!r}; a list of {', '.join(known)} was expected")
    for name in names:
        if name not in known:
            raise section.error(key, f"names {name!r}; {nearest(name, known)}")
    return _choice(section, key, given | {"values": [float(known.index(name)) for name in names]})


def _unit_hint(parameter: Parameter, least: float, most: float) -> str:
    low, high = parameter.plausible
    for unit, factor in UNIT_MISTAKES.get(parameter.unit, ()):
        if low <= least * factor and most * factor <= high:
            return f"; if these are {unit}, write [{least * factor:g}, {most * factor:g}]"
    return ""


def _distribution(section: Section, key: str, value: Any) -> Distribution:
    if is_number(value):
        return Constant(float(value))
    if isinstance(value, list):
        if len(value) != 2:
            raise section.error(key, f"is a list of {len(value)}; [low, high] was expected")
        return _checked(section, key, Uniform(_argument(section, key, value[0]), _argument(section, key, value[1])))
    if isinstance(value, dict) and len(value) == 1:
        ((form, arguments),) = value.items()
        if form not in FORMS:
            raise section.error(key, f"names the distribution {form!r}; {nearest(str(form), FORMS)}")
        return _checked(section, key, _of_form(section, key, form, arguments))
    raise section.error(
        key, f"is {value!r}; a number, [low, high] or e.g. {{normal: {{mean: 0.6, std: 0.1}}}} was expected"
    )


def _of_form(section: Section, key: str, form: str, arguments: Any) -> Distribution:
    kind, names = FORMS[form]
    if form == "choice":
        return _choice(section, key, arguments)
    if isinstance(arguments, list):
        arguments = dict(zip(names, arguments, strict=False)) if len(arguments) == len(names) else {}
    if not isinstance(arguments, dict) or set(arguments) != set(names):
        raise section.error(key, f"{form} takes {', '.join(names)}, got {arguments!r}")
    return kind(*(_argument(section, key, arguments[name]) for name in names))


def _choice(section: Section, key: str, arguments: Any) -> Choice:
    if isinstance(arguments, list):
        arguments = {"values": arguments}
    values = arguments.get("values") if isinstance(arguments, dict) else None
    if not isinstance(values, list) or not values or not all(is_number(item) for item in values):
        raise section.error(key, f"choice takes a list of numbers, got {arguments!r}")
    weights = arguments.get("weights", [1.0] * len(values))
    if (
        not isinstance(weights, list) or len(weights) != len(values)
        or not all(is_number(item) and item >= 0 for item in weights) or sum(weights) <= 0
    ):  # fmt: skip
        raise section.error(key, f"weights must be {len(values)} numbers of 0 or more, not all 0; got {weights!r}")
    return Choice(tuple(map(float, values)), tuple(map(float, weights)))


def _argument(section: Section, key: str, value: Any) -> Argument:
    return float(value) if is_number(value) else _distribution(section, key, value)


def _checked(section: Section, key: str, distribution: Distribution) -> Distribution:
    """Refuse inverted ranges and standard deviations of 0."""

    def ends(argument: Argument) -> tuple[float, float]:
        return argument.support() if isinstance(argument, Distribution) else (argument, argument)

    match distribution:
        case Uniform(low, high) | LogUniform(low, high) | Truncated(_, _, low, high) if ends(low)[1] > ends(high)[0]:
            raise section.error(
                key,
                f"the range is inverted: {ends(low)[1]:g} to {ends(high)[0]:g}; write the smaller number first",
            )
        case LogUniform(low, _) if ends(low)[0] <= 0:
            raise section.error(key, f"log_uniform needs numbers above 0, got {ends(low)[0]:g}")
        case Normal(_, std) | Truncated(_, std, _, _) if ends(std)[0] <= 0:
            raise section.error(key, f"std must be above 0, got {ends(std)[0]:g}")
    return distribution


def written_row(parameter: Parameter, distribution: Distribution) -> Any:
    """A row in the form of a config file."""
    match distribution:
        case Choice(values, _) if parameter.pool:
            return len(values)
        case Choice(values, weights) if parameter.words:
            names = [parameter.words[round(value)] for value in values]
            return {"choice": {"values": names, "weights": list(weights)}}
        case Choice(_, weights) if parameter.chance is not None:
            return weights[1]
    return written(distribution)


def written(distribution: Distribution) -> Any:
    """A distribution in the form of a config file."""

    def argument(value: Argument) -> Any:
        return written(value) if isinstance(value, Distribution) else value

    match distribution:
        case Choice(values, weights):
            return {"choice": {"values": list(values), "weights": list(weights)}}
        case Constant(value):
            return argument(value)
        case Uniform(low, high):
            return [argument(low), argument(high)]
    for form, (kind, names) in FORMS.items():
        if type(distribution) is kind:
            return {form: {name: argument(getattr(distribution, name)) for name in names}}
    raise TypeError(distribution)


@dataclass(frozen=True, kw_only=True)
class RandomizationKind(Kind):
    """The whole section: parameter name -> distribution, in the order of the table.

    `randomization: realistic` varies every realistic parameter over its sensible range; in a section,
    `preset: realistic` does so for all parameters that the section does not name.

    Attributes:
        inapplicable: parameter without meaning in this scene -> why. Presets leave it out; naming it is an error.
        robot: the scene's robot, whose strength bounds some ranges of presets.
        ranges: ranges of presets that the scene's task gives, instead of those of the table.
        things: names of the scene's things. `red_cube.object_mass_kg` is the range of one of them; its name here is
            `object_mass_kg.red_cube`.
        joints: names of the robot's driven joints. `elbow_flex.servo_coulomb_nm` is the range of one of them.

    A row with elements may have a range for one of them: `x.tracker_bias_mm`.
    """

    FORMS = (str, dict)

    inapplicable: Mapping[str, str] = field(default_factory=dict)
    robot: Robot | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    things: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()

    def read(self, section: Section, key: str) -> dict[str, Distribution]:
        if isinstance(section.raw(key), str):
            return self._preset(section, key)
        groups = section.section(key)
        given = self._preset(groups, "preset") if "preset" in groups else {}
        for group in GROUPS:
            rows = groups.section(group)
            for name in rows:
                part, row = _part_and_row(rows, name, self.things, self.joints)
                parameter = BY_NAME.get(row)
                if parameter is None or parameter.group != group:
                    raise rows.error(name, _unknown(row, group))
                if row in self.inapplicable:
                    raise rows.error(name, self.inapplicable[row])
                if part and not (parameter.of_thing or parameter.of_joint or part in parameter.elements):
                    raise rows.error(name, f"{row} is not a property of one thing; write it without {part!r}")
                given[f"{row}.{part}" if part else row] = _read(rows, parameter, name)
        groups.finish()
        return ordered_rows(given)

    def _preset(self, section: Section, key: str) -> dict[str, Distribution]:
        name = section.raw(key)
        if name not in PRESETS:
            hint = nearest(str(name), PRESETS)
            raise section.error(key, f"is {name!r}; a mapping of parameters was expected, or {hint}")
        return {
            row.name: sensible(row, self.robot, self.ranges)
            for row in TABLE
            if row.realistic and row.name not in self.inapplicable
        }

    def write(self, value: Mapping[str, Distribution]) -> dict[str, Any]:
        groups: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
        for name, distribution in value.items():
            row, dot, thing = name.partition(".")
            groups[BY_NAME[row].group][f"{thing}{dot}{row}"] = written_row(BY_NAME[row], distribution)
        return {group: rows for group, rows in groups.items() if rows}

    def schema(self) -> dict[str, Any]:
        groups = {
            group: {
                "type": ["object", "null"],
                "additionalProperties": False,
                "properties": {row.name: row_schema(row) for row in TABLE if row.group == group},
                "patternProperties": {
                    rf"^{_part_pattern(row)}\.{row.name}$": row_schema(row)
                    for row in TABLE
                    if row.group == group and (row.of_thing or row.of_joint or row.elements)
                },
            }
            for group in GROUPS
        }
        preset = {
            "enum": list(PRESETS),
            "description": "varies every parameter that is not named over a sensible range",
        }
        section = {
            "type": ["object", "null"],
            "additionalProperties": False,
            "properties": {"preset": preset, **groups},
        }
        return {"anyOf": [{"enum": list(PRESETS)}, section]}

    def definitions(self) -> dict[str, Any]:
        return _definitions()

    def expected(self) -> str:
        return f"a mapping of {', '.join(GROUPS)}, or a preset ({', '.join(PRESETS)})"


def _part_pattern(row: Parameter) -> str:
    """Regular expression of the things, joints or elements that a key may name before the row."""
    if row.of_joint:
        return JOINT_NAME
    return THING_NAME if row.of_thing else f"({'|'.join(row.elements)})"


def row_schema(row: Parameter) -> dict[str, Any]:
    """JSON Schema of the values that a config file may give for a row."""
    low, high = row.plausible
    number = {"type": "number", "minimum": low, "maximum": high}
    unit = "" if row.unit == "1" else f" ({row.unit})"
    about = {
        "description": f"{row.touches}{unit}; gap: {row.gap}; sensible: {row.sensible[0]:g} to {row.sensible[1]:g}"
    }
    if row.pool:
        return about | {"type": "integer", "minimum": int(low), "maximum": int(high)}
    if row.chance is not None:
        return about | {"type": "number", "minimum": 0, "maximum": 1}
    if row.words:
        weights = {"type": "array", "items": {"type": "number", "minimum": 0}}
        names = {"type": "array", "items": {"enum": list(row.words)}, "minItems": 1}
        weighted = _mapping({"values": names, "weights": weights}, ["values"])
        return about | {
            "anyOf": [{"enum": list(row.words)}, names, _mapping({"choice": {"anyOf": [names, weighted]}}), weighted]
        }
    pair = {"type": "array", "items": {"$ref": ARGUMENT}, "minItems": 2, "maxItems": 2}
    return about | {"anyOf": [number, pair, {"$ref": DISTRIBUTION}]}


def _definitions() -> dict[str, Any]:
    """JSON Schema definitions that all rows share. An argument may be a distribution; the reader checks its values."""
    weights = {"type": "array", "items": {"type": "number", "minimum": 0}}
    values = {"type": "array", "items": {"type": "number"}, "minItems": 1}
    forms = {"choice": {"anyOf": [values, _mapping({"values": values, "weights": weights}, ["values"])]}}
    for form, (_, names) in FORMS.items():
        listed = {"type": "array", "items": {"$ref": ARGUMENT}, "minItems": len(names), "maxItems": len(names)}
        by_name = _mapping({name: {"$ref": ARGUMENT} for name in names})
        forms.setdefault(form, {"anyOf": [by_name, listed]})
    pair = {"type": "array", "items": {"$ref": ARGUMENT}, "minItems": 2, "maxItems": 2}
    return {
        "distribution": {"anyOf": [_mapping({form: arguments}) for form, arguments in forms.items()]},
        "argument": {"anyOf": [{"type": "number"}, pair, {"$ref": DISTRIBUTION}]},
    }


def _mapping(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    needed = list(properties) if required is None else required
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": needed}
