"""The page of a collection plan."""

from pathlib import Path

from twinloop.dashboard.formatting import number
from twinloop.dashboard.page import render_page, write_page
from twinloop.diagnose.plan import Plan


def write_plan_page(target: Path, plan: Plan) -> Path:
    return write_page(target, render_plan(plan))


def render_plan(plan: Plan) -> str:
    return render_page(
        "plan.html",
        title="plan · twinloop",
        heading="What to do next",
        lead=plan.verdict,
        items=[
            (
                place, item.gap, item.measure, item.description, f"{item.gain:.1f}",
                "{:.0f} to {:.0f}".format(*item.interval), f"{item.hours:.1f}", f"{item.gain_per_hour:.1f}",
                item.assumed,
            )
            for place, item in enumerate(plan.lines, start=1)
        ],
        ranges=[
            (change.row, number(change.low), number(change.high), change.change)
            for item in plan.lines
            for change in item.ranges
        ],
        plan=plan,
    )  # fmt: skip
