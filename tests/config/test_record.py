"""Records round-trip; invalid values are refused with file, line, key and valid values."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from twinloop.config.fields import flag, integer, internal, number, numbers, text, texts, word
from twinloop.config.record import by_name, json_schema, nested, read_record, write_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import parse_yaml
from twinloop.errors import ConfigError


@dataclass(frozen=True)
class Lamp:
    power_w: float = number(low=0, high=100, unit="W", help="its power")
    colour: str = word("warm", words=("warm", "cold"), help="its colour")


@dataclass(frozen=True)
class Room:
    name: str = text(filled=True, help="its name")
    floor: int = integer(0, low=-3, high=100, help="its floor")
    lit: bool = flag(False, help="is there light?")
    corner_m: tuple[float, ...] = numbers((0.0, 0.0), low=-10, high=10, count=2, unit="m", help="where it begins")
    tags: tuple[str, ...] = texts((), empty=True, help="what else is known")
    lamps: dict[str, Lamp] = by_name(Lamp, names="[a-z]+", most=2, what="lamp", help="its lamps")
    spare: Lamp | None = nested(Lamp, optional=True, help="a lamp in the cupboard")
    computed: float = internal(1.5)

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.lit and not self.lamps:
            yield "lit", "is true, and there are no lamps"


def read(yaml_text: str, **options: Any) -> Room:
    return read_record(Room, Section("room.yaml", "", *parse_yaml(yaml_text, "room.yaml")), **options)


FULL = "name: hall\nfloor: 2\nlit: true\ncorner_m: [1, 2]\ntags: [a]\nlamps: {left: {power_w: 60, colour: cold}}\n"


@pytest.mark.parametrize("yaml_text", ["name: hall", FULL, FULL + "spare: {power_w: 5}\n"])
def test_written_records_read_back_the_same_and_fit_the_schema(yaml_text: str):
    room = read(yaml_text)
    written = write_record(room)
    assert read_record(Room, Section("again", "", written, {})) == room
    jsonschema.Draft202012Validator(json_schema(Room, title="Room")).validate(written)
    assert "computed" not in written


def test_a_base_gives_the_values_of_missing_keys():
    base = read(FULL)
    assert read("name: kitchen", base=base) == Room("kitchen", 2, True, (1.0, 2.0), ("a",), base.lamps)


def test_attributes_that_the_caller_gives_are_not_read():
    assert read("name: hall\nfloor: 7", given={"floor": 3, "computed": 9.0}) == Room("hall", 3, computed=9.0)


BAD = {
    "a missing key": ("floor: 1", ["room.yaml:1: name", "is missing", "its name"]),
    "an empty text": ("name: ''", ["room.yaml:1: name", "empty"]),
    "an unknown key": ("name: a\nflor: 1", ["room.yaml:2: flor", "did you mean floor"]),
    "a number too large": ("name: a\nfloor: 101", ["room.yaml:2: floor", "101", "from -3 to 100"]),
    "half a number": ("name: a\nfloor: 1.5", ["1.5", "whole number"]),
    "two numbers too few": ("name: a\ncorner_m: [1]", ["corner_m", "[1]", "2 numbers"]),
    "a number outside": ("name: a\ncorner_m: [1, 11]", ["corner_m", "(m) from -10 to 10"]),
    "a key of an entry": ("name: a\nlamps:\n  left: {power: 3}", ["3: lamps.left.power", "did you mean power_w"]),
    "a missing key of an entry": ("name: a\nlamps:\n  left: {}", ["room.yaml:3: lamps.left.power_w", "is missing"]),
    "a wrong word": ("name: a\nlamps: {left: {power_w: 3, colour: warn}}", ["did you mean warm"]),
    "a wrong name": ("name: a\nlamps: {L1: {power_w: 3}}", ["lamps.L1", "name of a lamp"]),
    "too many entries": ("name: a\nlamps: {a: {}, b: {}, c: {}}", ["lamps.c", "2 at most"]),
    "two keys that contradict": ("name: a\nlit: true", ["room.yaml:2: lit", "no lamps"]),
    "no mapping": ("name: a\nspare: 5", ["spare", "5", "mapping"]),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_keys_are_refused_by_name(name: str):
    yaml_text, words = BAD[name]
    with pytest.raises(ConfigError) as error:
        read(yaml_text)
    assert all(part in str(error.value) for part in words), error.value


def test_the_schema_has_the_rules_of_the_reader():
    schema = json_schema(Room, title="Room")
    assert schema["required"] == ["name"]
    assert schema["properties"]["floor"] == {
        "type": "integer", "minimum": -3, "maximum": 100, "description": "its floor", "default": 0
    }  # fmt: skip
    lamp = schema["properties"]["lamps"]["additionalProperties"]
    assert lamp["properties"]["power_w"]["description"] == "its power (W)"
    validator = jsonschema.Draft202012Validator(schema)
    for name, (yaml_text, _) in BAD.items():
        if name != "two keys that contradict":
            assert not validator.is_valid(parse_yaml(yaml_text, "x")[0]), name
