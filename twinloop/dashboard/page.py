"""A page: one HTML file that opens from disk and requests nothing. Templates are in `templates/`.

A new page is a template and a function that passes values, tables and charts to `render_page`. Text is always escaped;
only templates and charts write markup.
"""

import os
import re
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Literal

from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.interactive import content_hash, interactive_script
from twinloop.dashboard.vega import Chart, inline_svgs
from twinloop.durable import storage_errors

TEMPLATES = Path(__file__).parent / "templates"
MEDIA = {"films": "; media-src data:", "pictures": "; img-src data:"}
Tone = Literal["good", "bad"]

_CHARTS: ContextVar[list[Chart]] = ContextVar("_CHARTS")
"""The charts of the page that is being rendered. Templates write a placeholder, and all charts are drawn together."""

_PLACEHOLDER = re.compile(r"\0(\d+)\0")
_SECTION = re.compile(r'<section id="([^"]+)"><h2>(.*?)</h2>')


def render_page(
    template: str,
    *,
    title: str,
    heading: str,
    lead: str = "",
    pill: tuple[str, Tone] | None = None,
    tiles: Sequence[tuple[str, str]] = (),
    note: str = "",
    findings: Sequence[str] = (),
    footer: str = "",
    media: Iterable[Literal["films", "pictures"]] = (),
    interactive: bool = False,
    body: str | None = None,
    **context: Any,
) -> str:
    """The text of a page.

    Args:
        template: the file in `templates/` with the sections of the page. It is given `context`.
        title: of the browser window. heading, lead: the first lines of the page. pill: a status beside the heading.
        tiles: (value, meaning) of the most important numbers.
        note, findings: a sentence and a list at the top.
        media: kinds of content that the page embeds besides charts.
        interactive: charts can be zoomed and moved. The page carries the Vega runtime and is 0.9 MB larger.
        body: the sections, if `render_body` has rendered them already.
    """
    from markupsafe import Markup

    body = render_body(template, interactive=interactive, **context) if body is None else body
    policy = "default-src 'none'; style-src 'unsafe-inline'" + "".join(MEDIA[kind] for kind in media)
    script = interactive_script() if interactive else ""
    if script:
        policy += f"; script-src '{content_hash(script)}'"
    return (
        _environment(interactive)
        .get_template("base.html")
        .render(
            title=title,
            heading=heading,
            lead=lead,
            pill=pill,
            tiles=tiles,
            note=note,
            findings=findings,
            footer=footer,
            policy=Markup(policy),
            style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
            links=[(anchor, Markup(name)) for anchor, name in _SECTION.findall(body)],
            body=Markup(body),
            script=Markup(script),
        )
    )


def render_body(template: str, *, interactive: bool = False, **context: Any) -> str:
    """The sections of a page, with their charts."""
    charts: list[Chart] = []
    _CHARTS.set(charts)
    body = _environment(interactive).get_template(template).render(context)
    drawings = dict(enumerate(inline_svgs(charts)))
    return _PLACEHOLDER.sub(lambda match: drawings.get(int(match[1]), ""), body)


@cache
def _environment(interactive: bool):
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"draw": _draw_interactive if interactive else _draw, "number": number, "percent": percent}
    parts = environment.get_template("parts.html").module
    for name in ("section", "card", "chart_card", "table", "legend", "facts"):
        environment.globals[name] = getattr(parts, name)
    return environment


def _draw(chart: Chart):
    """A placeholder for the static chart."""
    from markupsafe import Markup

    charts = _CHARTS.get()
    charts.append(chart)
    return Markup(f"\0{len(charts) - 1}\0")


def _draw_interactive(chart: Chart):
    """The static chart, and the specification that the script turns into an interactive one in its place."""
    from markupsafe import Markup

    return Markup(f'<div class="chart">{_draw(chart)}<script type="application/json">{chart.json()}</script></div>')


def write_page(target: Path, content: str) -> Path:
    """Write a page atomically: a reader finds the old page or the new one, never half of one."""
    new = target.with_name(f".{target.name}.{os.getpid()}")
    data = content.encode("utf-8", errors="replace")
    with storage_errors(target, needed_bytes=len(data)):
        try:
            new.write_bytes(data)
            os.replace(new, target)
        finally:
            new.unlink(missing_ok=True)
    return target
