"""The page of a loop: success in the twin and on the robot by round, each number with a link to its evidence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twinloop.dashboard.charts.channels import quantity
from twinloop.dashboard.charts.intervals import Estimate, interval_dots
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.vega import BLUE, GREEN, Chart
from twinloop.pipeline.loop import LoopResult, Round


def write_loop_page(target: Path, result: LoopResult, goal: float) -> Path:
    return write_page(target, render_loop(result, goal))


def render_loop(result: LoopResult, goal: float) -> str:
    return render_page(
        "loop.html",
        title=f"loop {result.path.name} · twinloop",
        heading=result.path.name,
        lead=f"The target was {'' if result.reached else 'not '}reached: {result.why}.",
        pill=("target reached", "good") if result.reached else ("target not reached", "bad"),
        goal=goal,
        course=_course(result, goal),
        colours={"in the twin": BLUE, "on the robot": GREEN},
        rounds=[(loop_round, _files(result.path, loop_round)) for loop_round in result.rounds],
        share=_share_text,
    )


def _course(result: LoopResult, goal: float) -> Chart:
    estimates = [
        Estimate(f"round {loop_round.number}", rate["rate"], rate["low"], rate["high"], f"{rate['rate']:.0%}", colour)
        for loop_round in result.rounds
        for rate, colour in ((loop_round.twin, BLUE), (loop_round.robot, GREEN))
        if rate["rate"] is not None
    ]
    x = quantity("value", "success", domain=(-0.02, 1.02), percent=True, ticks=(0, 0.25, 0.5, 0.75, 1))
    return interval_dots(estimates, x, "success in the twin and on the robot in each round", limit=goal, width=560)


def _share_text(rate: Mapping[str, Any]) -> str:
    return f"{rate['successes']} of {rate['trials']} ({rate['low']:.0%} to {rate['high']:.0%})"


def _files(path: Path, loop_round: Round) -> list[str]:
    """Files of a round, relative to its folder."""
    folder = path / f"round-{loop_round.number}"
    evaluations = sorted(f"{file.parent.name}/{file.name}" for file in folder.glob("evaluation*/evaluation.json"))
    files = ["config.yaml", "policy", *evaluations]
    files += ["runlog"] if (folder / "runlog").exists() else []
    files += ["diagnosis/report.html"] if loop_round.verdict else []
    files += ["plan.json"] if loop_round.verdict and loop_round.requests else []
    files += ["requests.json"] if loop_round.requests else []
    return [*files, "round.json"]
