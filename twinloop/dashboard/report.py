"""The report: one file of HTML beside the data, that opens from the disk and asks the network for nothing."""

import os
from pathlib import Path

from twinloop.dashboard.material import gather
from twinloop.dashboard.page import page
from twinloop.dashboard.sections import SECTIONS
from twinloop.dashboard.sections.headline import headline
from twinloop.dashboard.summary import REPORT
from twinloop.errors import StorageError


def write_report(dataset_path: Path) -> Path:
    """Write `report.html` into the dataset's folder, finished or not, and return where it is.

    The same dataset gives the same bytes. A reader finds the old report or the new one, never half of one.
    """
    content = render_report(dataset_path).encode("utf-8", errors="replace")
    target = dataset_path / REPORT
    new = target.with_name(f".{REPORT}.{os.getpid()}")
    try:
        try:
            new.write_bytes(content)
            os.replace(new, target)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{target}: cannot be written: {error.strerror}; is the folder writable?") from error
    return target


def render_report(dataset_path: Path) -> str:
    material = gather(dataset_path)
    sections = [section(material) for section in SECTIONS]
    body = "".join(section.html() for section in sections)
    foot = "<footer>Made by twinloop from this folder. Point at any mark of a chart for its numbers.</footer>"
    return page(f"{material.dataset.header.name} · twinloop", headline(material, sections) + body + foot)
