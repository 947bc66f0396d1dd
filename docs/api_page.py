"""The page docs/api.md: the public names with their signatures, docstrings and examples."""

import inspect
import re
import textwrap
from collections.abc import Iterator

import twinloop as tl

API_GROUPS = {
    "Functions": "One per command. Arguments are paths or the records that other functions return.",
    "Records and types": "What the functions take and return, and what a plugin implements (see extending.md).",
    "Errors": "Every error that Twinloop raises on purpose is a `TwinloopError`.",
}


def api_page() -> str:
    """The public names with their signatures and docstrings; the docstring's example becomes a code block."""
    lines = [
        "# Python API",
        "",
        "`import twinloop as tl` gives the names below. Written by `make docs` from the docstrings; do not edit.",
        "The tests run every example, in a folder with a `cell.yaml`. Datasets and policies that an example names were",
        "made by an example above it. Modules inside `twinloop` are not part of the public API, except those that",
        "[extending.md](extending.md) names.",
    ]
    for title, note in API_GROUPS.items():
        names = [name for name in tl.__all__ if _api_group(name) == title]
        links = ", ".join(f"[`{name}`](#{name.lower()})" for name in names)
        lines += ["", f"## {title}", "", f"{note.replace('extending.md', '[extending.md](extending.md)')} {links}"]
        for name in names:
            lines += ["", f"### {name}", "", *_api_entry(name)]
    return "\n".join(lines) + "\n"


def _api_group(name: str) -> str:
    if not isinstance(getattr(tl, name), type):
        return "Functions"
    return "Errors" if issubclass(getattr(tl, name), Exception) else "Records and types"


def _api_entry(name: str) -> Iterator[str]:
    value = getattr(tl, name)
    text, _, example = (inspect.getdoc(value) or "").partition("\nExample:\n")
    if inspect.isfunction(value):
        parameters = inspect.signature(value).parameters.values()
        arguments = [p.name if p.default is p.empty else f"{p.name}={_default(p.default)}" for p in parameters]
        first_keyword = next((i for i, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
        if first_keyword is not None:
            arguments.insert(first_keyword, "*")
        yield from (
            "```python",
            *textwrap.wrap(f"tl.{name}({', '.join(arguments)})", 118, subsequent_indent="    "),
            "```",
            "",
        )
    yield from _as_markdown(text.strip())
    yield from ("", "```pycon", textwrap.dedent(example).strip(), "```")


def _default(value: object) -> str:
    return repr(list(value)) if isinstance(value, list) else repr(value)


def _as_markdown(text: str) -> Iterator[str]:
    """Sections such as `Args:` become lists."""
    for line in text.splitlines():
        heading = re.fullmatch(r"(Args|Returns|Raises|Attributes):", line)
        item = re.fullmatch(r"    ([a-zA-Z_, ]+): (.*)", line)
        if heading:
            yield from (f"{heading[1]}:", "")
        elif item:
            yield f"- `{item[1]}`: {item[2]}"
        elif line.startswith("        "):
            yield f"  {line.strip()}"
        else:
            yield line.strip() if line.startswith("    ") else line
