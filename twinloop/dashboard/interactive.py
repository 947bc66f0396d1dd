"""The script of interactive pages: the Vega runtime, carried inside the page, and a few lines that start it."""

import base64
import hashlib
from functools import cache

from twinloop.dashboard.drawing import VEGALITE_VERSION

# `ast` evaluates Vega expressions with an interpreter, so the page needs no permission for eval. The SVG renderer keeps
# the colours as CSS variables, which follow the reader's theme.
_START = """
for (const chart of document.querySelectorAll("div.chart")) {
  const spec = JSON.parse(chart.querySelector("script").textContent);
  const place = document.createElement("div");
  vegaEmbed(place, spec, { ast: true, actions: false, renderer: "svg", tooltip: true }).then(() => {
    chart.replaceChildren(place);
  });
}
"""


@cache
def interactive_script() -> str:
    """The runtime and its start as one script without imports."""
    import vl_convert

    return vl_convert.javascript_bundle(_START, vl_version=VEGALITE_VERSION).replace("</script", "<\\/script")


def content_hash(script: str) -> str:
    """The source that a Content-Security-Policy names to permit exactly this script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
