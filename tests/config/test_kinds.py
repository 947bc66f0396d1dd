"""Lists, ranges, unions, short forms, versions and annotations: one reader, one writer and one schema for each."""

from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

import jsonschema
import pytest

from twinloop.config.annotations import attribute_help
from twinloop.config.compound import Keyed, OneOf
from twinloop.config.fields import day, internal, listed, mapped, number, of_kind, span, text, version
from twinloop.config.json_file import record_from_json, value_from_json
from twinloop.config.kinds import Kind, Number, Word
from twinloop.config.record import Nested, by_name, declared, json_schema, nested, read_record, write_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import parse_yaml
from twinloop.errors import CheckpointError, ConfigError, DatasetError


@dataclass(frozen=True)
class Tool:
    kind: str = text(filled=True, help="what it is")
    name: str = internal("")
    mass_kg: float = number(1.0, low=0, high=10, above=True, unit="kg", help="its mass")


@dataclass(frozen=True)
class Bench:
    bought: date = day(help="when it was bought")
    width_m: tuple[float, float] = span((0.0, 1.0), low=-5, high=5, unit="m", help="where it stands")
    height_m: tuple[float, float] = span((1.0, 1.0), low=0, high=3, point=True, help="its height")
    tools: tuple[Tool, ...] = listed(
        Nested(record=Tool, short="kind"), (Tool("vice"),), least=1, most=2, what="tool", help="what lies on it"
    )
    drawers: tuple[Tool, ...] = by_name(Tool, named="name", short="kind", what="drawer", help="what is inside")
    prices: dict[str, float] = mapped(Number(low=0, high=9), what="part", help="what parts cost")
    limit: float | str = of_kind(OneOf(kinds=(Number(low=0, above=True), Word(words=("none",)))), "none")
    rows: dict[str, float] = of_kind(Keyed(kinds={"mu": Number(low=0, high=1, help="friction")}), default_factory=dict)
    format_version: int = version(3)


HEAD = "format_version: 3\nbought: 2026-01-31\n"
FULL = """width_m: [-1, 2]
height_m: 0.7
tools: [saw, {kind: plane, mass_kg: 3}]
drawers: {left: nails, right: {kind: glue}}
prices: {screw: 0.5}
limit: 4
rows: {mu: 0.5}
"""


def read(yaml_text: str) -> Bench:
    return read_record(Bench, Section("bench.yaml", "", *parse_yaml(yaml_text, "bench.yaml")))


@pytest.mark.parametrize("rest", ["", FULL])
def test_written_values_read_back_the_same_and_fit_the_schema(rest: str):
    bench = read(HEAD + rest)
    written = write_record(bench)
    validator = jsonschema.Draft202012Validator(json_schema(Bench, title="Bench"))
    validator.validate(written)
    validator.validate(parse_yaml(HEAD + rest, "bench.yaml")[0])
    assert read_record(Bench, Section("again", "", written, {})) == bench


def test_short_forms_ranges_and_names_are_resolved():
    bench = read(HEAD + FULL)
    assert bench.tools == (Tool("saw"), Tool("plane", mass_kg=3.0))
    assert bench.drawers == (Tool("nails", "left"), Tool("glue", "right"))
    assert (bench.width_m, bench.height_m, bench.limit) == ((-1.0, 2.0), (0.7, 0.7), 4.0)
    assert write_record(bench)["height_m"] == 0.7


BAD = {
    "no version": ("bought: 2026-01-31", ["format_version", "is missing", "the version 3"]),
    "a newer version with other keys": ("format_version: 4\nnew: 1", ["format_version: is 4", "reads version 3"]),
    "no day": ("format_version: 3\nbought: soon", ["bench.yaml:2: bought", "'soon'", "a day like"]),
    "an inverted range": (HEAD + "width_m: [2, 1]", ["bench.yaml:3: width_m", "must not be larger"]),
    "an empty range": (HEAD + "width_m: [1, 1]", ["width_m", "must not be larger"]),
    "a range outside": (HEAD + "width_m: [0, 6]", ["width_m", "it must be from -5 to 5 (m)"]),
    "a number where only a range is valid": (HEAD + "width_m: 3", ["width_m: is 3; [low, high] (m) was expected"]),
    "a word for a range": (HEAD + "height_m: tall", ["a number or [low, high]"]),
    "an empty list": (HEAD + "tools: []", ["tools: is []; a list of 1 to 2 tools was expected"]),
    "a wrong key in an entry": (
        HEAD + "tools:\n- {kind: saw}\n- {kid: saw}",
        ["bench.yaml:5: tools[1].kid", "did you mean kind"],
    ),
    "a wrong value in a short form": (HEAD + "tools: ['']", ["tools[0].kind", "is empty"]),
    "a mass of 0": (HEAD + "drawers: {a: {kind: b, mass_kg: 0}}", ["drawers.a.mass_kg", "above 0, 10 at most"]),
    "a wrong price": (HEAD + "prices: {screw: -1}", ["prices.screw", "from 0 to 9"]),
    "neither of the forms": (HEAD + "limit: nonne", ["limit: is 'nonne'", "a number above 0, or the word none"]),
    "a limit of 0": (HEAD + "limit: 0", ["limit: is 0", "a number above 0, or the word none"]),
    "a key that the table has not": (HEAD + "rows: {mo: 1}", ["rows.mo: is not a key", "did you mean mu"]),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_values_are_refused_by_reader_and_schema(name: str):
    yaml_text, words = BAD[name]
    with pytest.raises(ConfigError) as error:
        read(yaml_text)
    assert all(part in str(error.value) for part in words), error.value
    validator = jsonschema.Draft202012Validator(json_schema(Bench), format_checker=jsonschema.FormatChecker())
    beyond_schema = ("an inverted range", "an empty range")
    assert name in beyond_schema or not validator.is_valid(parse_yaml(yaml_text, "x")[0])


@dataclass(frozen=True)
class Part:
    """A part.

    Attributes:
        name, maker: names, as
            on the box.
        grade: how good it is.
    """

    name: str
    maker: str
    grade: Literal["a", "b"]


@dataclass(frozen=True)
class Delivery:
    parts: tuple[Part, ...]
    size: tuple[float, float]
    weights: dict[str, int]
    checked: bool
    arrived: date | None
    note: Any = None
    spare: Part | None = None
    tags: tuple[str, ...] = field(default=())


DELIVERY = Delivery((Part("bolt", "us", "a"),), (1.0, 2.0), {"bolt": 3}, True, None, [1, {"x": None}])


def test_a_plain_dataclass_is_a_record():
    written = write_record(DELIVERY)
    assert written == {
        "parts": [{"name": "bolt", "maker": "us", "grade": "a"}], "size": [1.0, 2.0], "weights": {"bolt": 3},
        "checked": True, "arrived": None, "note": [1, {"x": None}], "spare": None, "tags": [],
    }  # fmt: skip
    assert record_from_json(Delivery, written, where="d.json", error=DatasetError) == DELIVERY
    jsonschema.Draft202012Validator(json_schema(Delivery)).validate(written)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": {"bolt": 1.5}}, ["d.json: weights.bolt", "1.5", "whole number"]),
        ({"size": [1]}, ["d.json: size", "[1]", "list of 2"]),
        ({"parts": [{"name": "bolt", "maker": "us", "grade": "c"}]}, ["parts[0].grade", "'c'", "Valid here: a, b"]),
        ({"checked": 1}, ["checked", "true or false"]),
        ({"arrived": "soon"}, ["arrived", "a day like 2027-12-31, or null"]),
    ],
)
def test_invalid_values_of_a_plain_dataclass_are_refused_with_the_callers_error(change: dict, words: list[str]):
    with pytest.raises(DatasetError) as error:
        record_from_json(Delivery, write_record(DELIVERY) | change, where="d.json", error=DatasetError)
    assert all(word in str(error.value) for word in words), error.value


def test_help_comes_from_the_docstring():
    assert attribute_help(Part) == {
        "name": "names, as on the box", "maker": "names, as on the box", "grade": "how good it is"
    }  # fmt: skip
    assert json_schema(Part)["properties"]["grade"]["description"] == "how good it is"


def test_an_annotation_without_a_kind_is_refused():
    @dataclass(frozen=True)
    class Odd:
        values: set[int]

    with pytest.raises(TypeError, match="declare the field"):
        declared(Odd)


def test_a_value_that_is_no_mapping_has_a_place_in_messages():
    kind = Nested(record=Part)
    with pytest.raises(CheckpointError, match=r"p\.json: is 5; a mapping"):
        value_from_json(kind, 5, where="p.json", error=CheckpointError)


def test_a_kind_without_all_methods_cannot_be_made():
    class Half(Kind):
        FORMS = (str,)

    with pytest.raises(TypeError, match="abstract"):
        Half()  # pyright: ignore[reportAbstractUsage]


def test_optional_sections_are_left_out():
    @dataclass(frozen=True)
    class Box:
        part: Part | None = nested(Part, optional=True)

    assert write_record(Box()) == {}
