"""The report of a dataset: one HTML file beside the data that opens from disk and requests nothing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.dashboard.formatting import file_size, number, percent
from twinloop.dashboard.page import render_body, render_page, write_page
from twinloop.dashboard.report_data import ReportData, gather
from twinloop.dashboard.report_sections.coverage import parameter_coverage
from twinloop.dashboard.report_sections.endings import endings
from twinloop.dashboard.report_sections.episodes import example_episodes
from twinloop.dashboard.report_sections.success import success
from twinloop.dashboard.report_sections.throughput import throughput
from twinloop.dashboard.report_sections.verdicts import verdicts
from twinloop.dashboard.summary import REPORT, size_bytes

TEMPLATE = "report.html"
MAX_TASKS = 3
MAX_CONFIG_CHARACTERS = 20_000
SOURCES = {"sim": "simulated", "real": "recorded on a robot", "mixed": "simulated and recorded"}


@dataclass(frozen=True)
class ReportDraft:
    """The parts of a report that do not depend on the export, with all charts drawn."""

    data: ReportData
    body: str
    findings: tuple[str, ...]
    interactive: bool

    def write(self) -> Path:
        """Write `report.html` into the dataset's folder and return its path."""
        return write_page(self.data.dataset.path / REPORT, _render(self))


def write_report(dataset_path: Path, *, interactive: bool = False) -> Path:
    """Write `report.html` into the dataset's folder, finished or not, and return its path.

    The same dataset gives the same bytes. interactive: charts can be zoomed; the page is 0.9 MB larger.
    """
    return draft_report(dataset_path, interactive=interactive).write()


def draft_report(dataset_path: Path, *, interactive: bool = False) -> ReportDraft:
    """Draw the charts of a report and render its sections. This may be done while the dataset is being exported."""
    data = gather(dataset_path)
    header, summary = data.dataset.header, data.summary
    sections: dict[str, Any] = {
        "throughput": throughput(data),
        "verdicts": verdicts(data),
        "coverage": parameter_coverage(data),
        "success": success(data),
        "endings": endings(data),
        "examples": example_episodes(data),
    }
    body = render_body(
        TEMPLATE,
        interactive=interactive,
        **sections,
        header=header,
        facts_of_run=[
            ("dataset digest", summary.digest),
            ("config digest", header.config_digest),
            ("run seed", str(header.run_seed)),
            ("made with", header.engine),
            ("robot", header.robot),
            ("features", ", ".join(f"{feature.name} [{feature.shape[0]}]" for feature in header.features)),
            ("rejected episodes", "stored" if header.keep_rejected else "not stored"),
        ],
        config=data.config_text[:MAX_CONFIG_CHARACTERS],
    )
    findings = tuple(finding for section in sections.values() for finding in section.get("findings", ()))
    return ReportDraft(data, body, findings, interactive)


def _render(draft: ReportDraft) -> str:
    data = draft.data
    header, summary = data.dataset.header, data.summary
    progress = f"unfinished: {summary.accepted.trials:,} of {summary.planned:,}"
    return render_page(
        TEMPLATE,
        title=f"{header.name} · twinloop",
        heading=header.name,
        lead=_lead(data),
        pill=("complete", "good") if summary.complete else (progress, "bad"),
        tiles=_tiles(data),
        findings=draft.findings,
        interactive=draft.interactive,
        body=draft.body,
    )


def _lead(data: ReportData) -> str:
    tasks = [f"“{task}”" for task in data.attempts.tasks[:MAX_TASKS]]
    more = len(data.attempts.tasks) - len(tasks)
    tasks += [f"{more} more tasks"] if more > 0 else []
    header = data.dataset.header
    return " · ".join([header.robot, *tasks, f"{header.fps:g} frames per second", SOURCES[header.source]])


def _tiles(data: ReportData) -> list[tuple[str, str]]:
    summary = data.summary
    attempts, hours, speed = summary.accepted.trials, summary.hours, summary.trajectories_per_second
    low, high = summary.accepted.interval
    interval = f"95 % interval {percent(low)} to {percent(high)}"
    return [
        (f"{attempts:,}", f"{'episode' if attempts == 1 else 'episodes'} attempted of {summary.planned:,} planned"),
        (percent(summary.accepted.value), f"accepted: {summary.accepted.successes:,} ({interval})"),
        (f"{summary.frames:,}", f"frames stored, of {summary.stored:,} episodes"),
        (f"{number(hours)} h" if hours >= 1 else f"{number(60 * hours)} min", "of robot time stored"),
        ("–" if speed is None else number(speed), "trajectories per second of work"),
        (file_size(size_bytes(data.dataset)), "on disk, shards and LeRobot export"),
        (summary.digest[:10], "digest that identifies this data"),
    ]
