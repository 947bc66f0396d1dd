"""The pieces of the page: sections, cards, tables, legends. Arguments named `inner` are markup, others text."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from twinloop.dashboard.style import STYLE
from twinloop.dashboard.svg import safe
from twinloop.durable import storage_errors


@dataclass(frozen=True)
class PageSection:
    """anchor: its name in the address. findings: sentences for the top of the page."""

    anchor: str
    title: str
    inner: str
    findings: tuple[str, ...] = ()

    def html(self) -> str:
        return f'<section id="{self.anchor}"><h2>{safe(self.title)}</h2>{self.inner}</section>'


def page(title: str, inner: str, *, films: bool = False, pictures: bool = False) -> str:
    """films, pictures: there are some inside the page."""
    allowed = "default-src 'none'; style-src 'unsafe-inline'" + ("; media-src data:" if films else "")
    allowed += "; img-src data:" if pictures else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Nothing may be loaded or run, whatever a dataset smuggles into a string.
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        f"<title>{safe(title)}</title><style>{STYLE}</style></head>\n<body><main>{inner}</main></body></html>\n"
    )


def write_page(target: Path, content: str) -> Path:
    """A reader finds the old page or the new one, never half of one."""
    new = target.with_name(f".{target.name}.{os.getpid()}")
    data = content.encode("utf-8", errors="replace")
    with storage_errors(target, needed_bytes=len(data)):
        try:
            new.write_bytes(data)
            os.replace(new, target)
        finally:
            new.unlink(missing_ok=True)
    return target


def text(sentence: str) -> str:
    """A paragraph; what stands between `backticks` is set as code."""
    marked = re.sub("`([^`]+)`", "<code>\\1</code>", safe(sentence))
    return f"<p>{marked}</p>"


def card(heading: str, inner: str, *explained: str, called: bool = False) -> str:
    """A chart with its heading above and, for newcomers, a sentence or two below."""
    head = f"<h3>{safe(heading)}</h3>" if heading else ""
    return f'<div class="card{" call" if called else ""}">{head}{inner}{"".join(map(text, explained))}</div>'


def cards(inner: Iterable[str], size: str = "") -> str:
    return f'<div class="{f"cards {size}".strip()}">{"".join(inner)}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Sequence[int] = ()) -> str:
    """numbers: the columns that are set flush right."""

    def cells(tag: str, values: Sequence[object]) -> str:
        flush = ' class="n"'
        marks = (flush if place in numbers else "" for place in range(len(values)))
        return "".join(f"<{tag}{mark}>{safe(value)}</{tag}>" for mark, value in zip(marks, values, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{cells("th", head)}</tr>{body}</table></div>'


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """(class of the swatch, name) in a row."""
    spans = (f'<span><i class="{kind}"></i>{safe(name)}</span>' for kind, name in entries)
    return f'<div class="legend">{"".join(spans)}</div>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{safe(name)}</dt><dd>{safe(value)}</dd>' for name, value in pairs)}</dl>"


def folded(summary: str, content: str) -> str:
    return f"<details><summary>{safe(summary)}</summary><pre>{safe(content)}</pre></details>"
