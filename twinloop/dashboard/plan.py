"""The page of a collection programme."""

from pathlib import Path

from twinloop.dashboard.page import PageSection, page, table, text, write_page
from twinloop.dashboard.svg import number, safe
from twinloop.diagnose.plan import Plan


def write_plan_page(target: Path, plan: Plan) -> Path:
    return write_page(target, render_plan(plan))


def render_plan(plan: Plan) -> str:
    sections = [_lines(plan), _ranges(plan), _training(plan)]
    head = f'<header><h1>What to do next</h1><p class="lead">{safe(plan.verdict)}</p></header>'
    return page("plan · twinloop", head + "".join(each.html() for each in sections))


def _lines(plan: Plan) -> PageSection:
    if not plan.lines:
        return PageSection("programme", "Programme", text("Nothing is worth a line."))
    head = ("", "gap", "do", "what", "gain, points", "90 % interval", "hours", "gain an hour", "assumed")
    rows = [
        (
            place, line.gap, line.measure, line.what, f"{line.gain:.1f}", "{:.0f} to {:.0f}".format(*line.interval),
            f"{line.hours:.1f}", f"{line.gain_per_hour:.1f}", line.assumed,
        )
        for place, line in enumerate(plan.lines, start=1)
    ]  # fmt: skip
    lead = text(
        "In order of gain per hour. What a gap costs is estimated from the robot's episodes; how much of it a measure "
        "wins back is an assumption, named in the last column."
    )
    return PageSection("programme", "Programme", lead + table(head, rows, numbers=(0, 4, 6, 7)))


def _ranges(plan: Plan) -> PageSection:
    rows = [(each.row, number(each.low), number(each.high), each.change) for line in plan.lines for each in line.ranges]
    inner = table(("parameter", "from", "to", "against before"), rows, numbers=(1, 2)) if rows else ""
    return PageSection("ranges", "Ranges to draw from", inner or text("The ranges can stay as they are."))


def _training(plan: Plan) -> PageSection:
    told = f"{plan.demonstrations} demonstrations; {plan.real_share:.0%} of every batch real, the rest simulated."
    return PageSection("training", "Training", text(told))
