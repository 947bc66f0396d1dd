"""Every page in a real browser: nothing is empty, cut off or overlapping, at two widths and in both themes.

Needs Debian's chromium (`apt-get install -y chromium`) and playwright; otherwise the tests are skipped.
"""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.dashboard.every_page import write_pages

pytestmark = pytest.mark.browser

WIDTHS, HEIGHT = (1200, 400), 900
THEMES = ("light", "dark")
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip

# Elements that reach beyond the right edge of the window, unless something around them scrolls.
OVERFLOWING = """() => {
  const limit = document.documentElement.clientWidth + 1;
  const scrolls = node => node && node !== document.body &&
    (["auto", "scroll"].includes(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
  const beyond = node => node.checkVisibility() && node.getBoundingClientRect().right > limit;
  return [...document.body.querySelectorAll("*")].filter(node => beyond(node) && !scrolls(node.parentElement))
    .map(node => `${node.tagName} ${(node.textContent || "").trim().slice(0, 60)}`);
}"""

# Pairs of texts in one chart whose boxes overlap by more than a few pixels in both directions.
OVERLAPPING = """() => {
  const pairs = [];
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.checkVisibility()) continue;
    const texts = [...svg.querySelectorAll("text")].filter(text => text.textContent.trim());
    const boxes = texts.map(text => text.getBoundingClientRect());
    for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
      const a = boxes[i], b = boxes[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 3 && tall > 4) pairs.push(`${texts[j].textContent} | ${texts[i].textContent}`);
    }
  }
  return pairs;
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no browser here; install one with: apt-get install -y chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here; run: pip install playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(OPTIONS))
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[tuple[Any, list[str]]]:
    """An empty tab, and everything that its pages complain about or request besides themselves.

    One tab for all pages: a new one starts a process.
    """
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": HEIGHT}, color_scheme=THEMES[0])
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if not _own(request.url) else None)
    yield page, complaints
    page.close()


def _own(url: str) -> bool:
    return url.startswith(("file:", "data:"))


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_full_and_fits(tab: tuple[Any, list[str]], pages: dict[str, Path], width: int):
    problems: dict[str, object] = {}
    page, complaints = tab
    page.set_viewport_size({"width": width, "height": HEIGHT})
    for name, file in pages.items():
        page.goto(file.as_uri())
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            result = {"complains": list(complaints), **problems_of(page, width=width, theme=theme)}
            complaints.clear()
            if any(result.values()):
                problems[f"{name}, {theme}"] = {what: value for what, value in result.items() if value}
    assert not problems


def problems_of(page: Any, *, width: int, theme: str) -> dict[str, object]:
    """Problems of a loaded page by name. A value is false or empty if the page does not have the problem."""
    image = np.asarray(Image.open(io.BytesIO(page.screenshot(full_page=True, type="jpeg"))).convert("L"), float)
    dark_page = image[:5, :5].mean() < 100
    return {
        "overflows": page.evaluate(OVERFLOWING) if page.evaluate("document.body.scrollWidth") > width else [],
        "texts overlap": page.evaluate(OVERLAPPING),
        "charts are empty": page.evaluate(
            "[...document.querySelectorAll('svg')].filter(svg => svg.checkVisibility() && "
            "(svg.getBoundingClientRect().height < 20 || !svg.querySelector('path, line, rect'))).length"
        ),
        "charts are too small to read": page.evaluate(
            "[...document.querySelectorAll('svg')].filter(svg => svg.checkVisibility() && "
            "svg.getBoundingClientRect().width < 0.7 * svg.viewBox.baseVal.width).length"
        ),
        "sections are empty": page.evaluate(
            "[...document.querySelectorAll('section')].filter(part => part.innerText.trim().length < 15).length"
        ),
        "is blank": image.std() < 5,
        "ignores the theme": dark_page != (theme == "dark"),
    }


def test_interactive_charts_replace_static_ones_without_a_request(tab: tuple[Any, list[str]], pages: dict[str, Path]):
    page, complaints = tab
    page.goto(pages["interactive"].as_uri())
    page.wait_for_function("document.querySelectorAll('div.vega-embed svg').length > 5", timeout=20_000)
    assert not complaints
    assert page.evaluate("document.querySelectorAll('div.chart > svg').length") == 0
