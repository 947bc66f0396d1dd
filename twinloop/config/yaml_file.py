"""Strict reader of YAML config files, which are untrusted input. It records the line of every key.

PyYAML's safe loader still expands aliases (a few hundred bytes can become 10^7 nodes) and accepts tags and duplicate
keys. This reader only parses the file, and refuses aliases, tags, duplicate keys, deep nesting and large values.
"""

import math
import re
from pathlib import Path

import yaml

from twinloop.durable import read_bounded
from twinloop.errors import ConfigError, StorageError, UsageError

MOST_BYTES = 256 * 1024
DEEPEST = 12
MOST_NODES = 50_000
LONGEST_TEXT = 4096  # the time to convert a number grows with the square of its digits

# The C loader has the same grammar and is twenty times as fast, if PyYAML was built with it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Value = dict | list | str | int | float | bool | None
Lines = dict[str, int]
"""Key path ("rollout.seed") -> line number."""


def read_yaml(path: Path) -> tuple[dict, Lines]:
    """The mapping in a YAML file, and the line of each key."""
    if "\0" not in str(path):
        if path.is_dir():
            raise UsageError(f"{path}: is a folder; a YAML file was expected")
        if not path.exists():
            raise UsageError(f"{path}: no such file")
    try:
        text = read_bounded(path, MOST_BYTES, error=UsageError).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except StorageError as error:
        raise UsageError(str(error)) from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> tuple[dict, Lines]:
    try:
        _refuse_tricks(text, name)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        # The parser reports a missing end on the line after the last one.
        where = f"{name}:{min(mark.line + 1, len(text.splitlines()) or 1)}" if mark else name
        raise UsageError(f"{where}: not YAML: {getattr(error, 'problem', None) or error}") from None
    if node is None:
        raise UsageError(f"{name}: is empty; `twinloop explain` prints a full config to start from")
    lines: Lines = {}
    value = _plain(node, "", name, lines)
    if not isinstance(value, dict):
        raise UsageError(f"{name}: holds {_kind(value)}; a mapping of sections was expected")
    return value, lines


def _refuse_tricks(text: str, name: str) -> None:
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
        where = f"{name}:{event.start_mark.line + 1}"
        if number > MOST_NODES:
            raise UsageError(f"{where}: more than {MOST_NODES:,} keys and values; a config has some hundred")
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST_TEXT:
            given = f"{event.value[:20]}... has {len(event.value):,} characters"
            raise UsageError(f"{where}: {given}; a key or value may have {LONGEST_TEXT:,} at most")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise UsageError(f"{where}: anchors and aliases (& and *) are not allowed; write the value out")
        if getattr(event, "tag", None):
            raise UsageError(f"{where}: tags (!) are not allowed, got {event.tag}")
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
            if depth > DEEPEST:
                raise UsageError(f"{where}: nested deeper than {DEEPEST} levels")
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1


def _plain(node: yaml.Node, path: str, name: str, lines: Lines) -> Value:
    line = node.start_mark.line + 1
    lines.setdefault(path, line)
    if isinstance(node, yaml.MappingNode):
        mapping: dict = {}
        for key_node, value_node in node.value:
            key = key_node.value
            inner = f"{path}.{key}" if path else str(key)
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{name}:{line}", "a key must be a word")
            if key in mapping:
                raise ConfigError(f"{name}:{key_node.start_mark.line + 1}: {inner}", "is given twice")
            lines[inner] = key_node.start_mark.line + 1
            mapping[key] = _plain(value_node, inner, name, lines)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, f"{path}[{index}]", name, lines) for index, item in enumerate(node.value)]
    return _scalar(node, path, name)


def _scalar(node: yaml.Node, path: str, name: str) -> Value:
    try:
        value = yaml.constructor.SafeConstructor().construct_object(node)
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"{name}:{node.start_mark.line + 1}: {path}", f"{node.value!r}: {error}") from None
    if isinstance(value, str) and _is_exponent(value):
        # YAML 1.1 reads 1e-3 as text.
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{name}:{node.start_mark.line + 1}: {path}", f"{node.value} is not a finite number")
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(node.value)


def _is_exponent(text: str) -> bool:
    return re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+", text) is not None


def _kind(value: object) -> str:
    return {dict: "a mapping", list: "a list", str: "text", bool: "true/false", type(None): "nothing"}.get(
        type(value), "a number"
    )
