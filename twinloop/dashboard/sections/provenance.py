"""Where the data comes from, and how to make any of it again."""

from twinloop.dashboard.page import PageSection, facts, folded, text
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.svg import safe

MOST_CONFIG = 20_000  # characters; a config is a page or two


def section(material: ReportData) -> PageSection:
    header, summary = material.dataset.header, material.summary
    pairs = [
        ("dataset digest", summary.digest),
        ("config digest", header.config_digest),
        ("run seed", str(header.run_seed)),
        ("made with", header.engine),
        ("robot", header.robot),
        ("features", ", ".join(f"{each.name} [{each.shape[0]}]" for each in header.features)),
        ("rejected rows", "stored" if header.keep_rejected else "not stored"),
    ]
    command = f"twinloop generate config.yaml --seed {header.run_seed}"
    again = (
        "<p>Config digest, run seed and attempt number fix an episode completely, on any machine and with any number "
        "of workers. To make this data again:</p>"
        f"<pre>{safe(command)}</pre>"
        "<p>Attempt <i>i</i> of that run is attempt <i>i</i> of this one: same draw, same physics, same frames.</p>"
        if header.source == "sim"
        else text("These episodes were not all simulated; the recordings are their only source.")
    )
    config = material.config_text[:MOST_CONFIG]
    shown = folded("the config, as resolved for this run", config) if config else ""
    return PageSection("provenance", "Provenance", f'<div class="card">{facts(pairs)}{shown}</div>{again}')
