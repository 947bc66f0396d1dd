"""The report: one file of HTML beside the data, that opens from the disk and asks the network for nothing."""

from pathlib import Path

from twinloop.dashboard.page import page, write_page
from twinloop.dashboard.report_data import gather
from twinloop.dashboard.sections import SECTIONS
from twinloop.dashboard.sections.headline import headline
from twinloop.dashboard.summary import REPORT


def write_report(dataset_path: Path) -> Path:
    """Write `report.html` into the dataset's folder, finished or not, and return where it is.

    The same dataset gives the same bytes.
    """
    return write_page(dataset_path / REPORT, render_report(dataset_path))


def render_report(dataset_path: Path) -> str:
    material = gather(dataset_path)
    sections = [section(material) for section in SECTIONS]
    body = "".join(section.html() for section in sections)
    foot = "<footer>Made by twinloop from this folder. Point at any mark of a chart for its numbers.</footer>"
    return page(f"{material.dataset.header.name} · twinloop", headline(material, sections) + body + foot)
