"""The page of a loop: success in the twin and on the robot, round by round, each number with a link to its evidence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twinloop.dashboard.page import PageSection, legend, page, text, write_page
from twinloop.dashboard.svg import canvas, px, safe, tooltip
from twinloop.pipeline.loop import LoopResult, Round

WIDTH, HEIGHT, LEFT, BELOW = 560.0, 240.0, 44.0, 30.0


def write_loop_page(target: Path, result: LoopResult, goal: float) -> Path:
    return write_page(target, render_loop(result, goal))


def render_loop(result: LoopResult, goal: float) -> str:
    told = "The target was reached" if result.reached else "The target was not reached"
    head = f'<header><h1>{safe(result.path.name)}</h1><p class="lead">{safe(told)}: {safe(result.why)}.</p></header>'
    sections = [PageSection("course", "Round by round", _course(result, goal) + _table(result.rounds))]
    sections += [
        PageSection(f"round-{each.number}", f"Round {each.number}", _round(result.path, each)) for each in result.rounds
    ]
    return page(f"loop {result.path.name} · twinloop", head + "".join(each.html() for each in sections))


def _course(result: LoopResult, goal: float) -> str:
    room, high = WIDTH - LEFT - 20, HEIGHT - BELOW - 12
    step = room / max(len(result.rounds), 1)

    def y(rate: float) -> float:
        return 12 + (1 - rate) * high

    marks = [
        f'<line class="axis" x1="{px(LEFT)}" x2="{px(WIDTH - 20)}" y1="{px(y(each))}" y2="{px(y(each))}"/>'
        f'<text x="{px(LEFT - 6)}" y="{px(y(each) + 4)}" text-anchor="end">{each:.0%}</text>'
        for each in (0.0, 0.5, 1.0, goal)
    ]
    for each in result.rounds:
        for side, (kind, rate) in enumerate((("plain", each.twin), ("good", each.robot))):
            x = LEFT + step * (each.number + 0.38 + 0.24 * side)
            if rate["rate"] is None:
                continue
            told = f"round {each.number}, {('twin', 'robot')[side]}: {rate['rate']:.0%}"
            low, middle, top = (px(y(rate[name])) for name in ("low", "rate", "high"))
            marks.append(
                f'<line class="axis" x1="{px(x)}" x2="{px(x)}" y1="{low}" y2="{top}"/>'
                f'<circle class="{kind}" cx="{px(x)}" cy="{middle}" r="5">{tooltip(told)}</circle>'
            )
        at = LEFT + step * (each.number + 0.5)
        marks.append(f'<text x="{px(at)}" y="{px(HEIGHT - 8)}" text-anchor="middle">round {each.number}</text>')
    told = "success in the twin and on the robot in each round"
    return canvas(WIDTH, HEIGHT, told, *marks) + legend([("plain", "in the twin"), ("good", "on the robot")])


def _table(rounds: tuple[Round, ...]) -> str:
    head = ("round", "real demonstrations", "in the twin", "on the robot", "gate", "found", "collected then")
    rows = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in (
            f'<a href="#round-{each.number}">{each.number}</a>', str(each.demonstrations),
            _linked(f"round-{each.number}/evaluation", _share(each.twin)),
            _linked(f"round-{each.number}/runlog", _share(each.robot)) if each.robot["trials"] else "held back",
            safe(each.gate["stage"]), safe(", ".join(each.found)), str(each.collected),
        )) + "</tr>"
        for each in rounds
    )  # fmt: skip
    return f'<div class="scroll"><table><tr>{"".join(f"<th>{name}</th>" for name in head)}</tr>{rows}</table></div>'


def _linked(folder: str, told: str) -> str:
    return f'<a href="{safe(folder)}">{safe(told)}</a>'


def _share(rate: Mapping[str, Any]) -> str:
    return f"{rate['successes']} of {rate['trials']} ({rate['low']:.0%} to {rate['high']:.0%})"


def _round(path: Path, each: Round) -> str:
    folder = f"round-{each.number}"
    kinds = sorted(f"{file.parent.name}/{file.name}" for file in (path / folder).glob("evaluation*/evaluation.json"))
    diagnosed = ("diagnosis/report.html",) if each.verdict else ()
    diagnosed += ("plan.json",) if each.verdict and each.errands else ()
    diagnosed += ("errands.json",) if each.errands else ()
    acted = ("runlog",) if each.robot["trials"] else ()
    names = ("config.yaml", "policy", *kinds, *acted, *diagnosed, "round.json")
    links = ", ".join(_linked(f"{folder}/{name}", name) for name in names)
    begun = f"{each.steps:,} steps" + (
        f" from the policy {each.parent[:12]} of the round before" if each.parent else ""
    )
    told = text(each.verdict) if each.verdict else ""
    return f"{text(begun)}{told}<p>{links}</p>"
