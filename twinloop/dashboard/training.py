"""The page of a training: what was learnt from, how the losses fell, how far off held-out actions are."""

import math
from pathlib import Path

import numpy as np

from twinloop.dashboard.page import card, cards, facts, legend, page, table, text, write_page
from twinloop.dashboard.svg import Axis, Plot, number, percent, points, px, safe, tooltip
from twinloop.learn.card import Card
from twinloop.learn.optimise import LossRecord
from twinloop.learn.train import TrainResult

REPORT = "report.html"


def write_training_report(trained: TrainResult) -> Path:
    path, known = trained.checkpoint.path, trained.checkpoint.card
    body = "".join([
        f"<header><h1>{safe(path.name)}</h1><p class='lead'>{safe(_lead(known))}</p></header>",
        "<section><h2>Losses</h2>", cards([card("", _curve(trained.curve), *_remarks(trained.curve))]), "</section>",
        "<section><h2>Held-out episodes</h2>", _errors(known), "</section>",
        "<section><h2>Data</h2>", _data(known), "</section>",
        "<section><h2>Provenance</h2>", facts(_provenance(known)), "</section>",
    ])  # fmt: skip
    return write_page(path / REPORT, page(f"{path.name} · twinloop", body))


def _lead(known: Card) -> str:
    inputs = ", ".join(feature.name for feature in known.space.inputs)
    return f"{known.policy} for {known.space.robot} at {known.space.rate_hz:g} Hz, reading {inputs}"


def _curve(looks: tuple[LossRecord, ...]) -> str:
    """Both losses on a logarithmic scale."""
    steps = np.array([look.step for look in looks], float)
    series = {
        "line": np.array([look.loss for look in looks]),
        "line second": np.array([look.held_out_loss for look in looks]),
    }
    known = np.concatenate([values[np.isfinite(values) & (values > 0)] for values in series.values()])
    low, high = math.floor(np.log10(known.min())), math.ceil(np.log10(known.max()) + 1e-9)
    marks = tuple((float(power), f"{10.0**power:g}") for power in range(low, high + 1))
    plot = Plot(
        Axis(0, float(steps[-1]), "step"), Axis(low, max(high, low + 1), "loss", named=marks),
        "losses over the steps of training", width=720, height=300,
    )  # fmt: skip
    drawn = []
    for tone, values in series.items():
        shown = np.isfinite(values) & (values > 0)
        shape = points(plot.x(steps[shown]), plot.y(np.log10(values[shown])))
        drawn.append(f'<polyline class="{tone}" points="{shape}"/>')
        drawn += [
            f'<circle class="dot" cx="{px(plot.x(step))}" cy="{px(plot.y(math.log10(value)))}" r="3">'
            f"{tooltip(f'step {step:,.0f}: {number(value)}')}</circle>"
            for step, value in zip(steps[shown], values[shown], strict=True)
        ]
    return plot.draw(*drawn) + legend([("line", "batches learnt from"), ("second", "held-out episodes")])


def _remarks(looks: tuple[LossRecord, ...]) -> list[str]:
    held_out = np.array([look.held_out_loss for look in looks])
    if not np.isfinite(held_out).any():
        return ["No episode was held out: nothing here says how well it generalises."]
    best, last = int(np.nanargmin(held_out)), float(held_out[-1])
    if last > 1.1 * held_out[best]:
        return [f"Held-out episodes were told best at step {looks[best].step:,}: more data, or fewer steps."]
    return [f"Held-out episodes: {number(last)} at the end, {percent(last / held_out[0])} of the first look."]


def _errors(known: Card) -> str:
    errors = known.metrics["held_out_error"]
    if not errors:
        return text("No episode was held out.")
    rows = [(name, number(value)) for name, value in errors.items()]
    return table(("element of the action", f"mean error over a chunk ({known.space.action.unit})"), rows, numbers=(1,))


def _data(known: Card) -> str:
    head = ("dataset", "kind", "episodes", "held out", "frames", "weight", "run seed", "digest")
    rows = [
        (
            data["path"], data["kind"], f"{data['episodes']:,}", f"{data['held_out']:,}", f"{data['frames']:,}",
            percent(data["weight"]), data["run_seed"], data["digest"][:12],
        )
        for data in known.data
    ]  # fmt: skip
    return table(head, rows, numbers=(2, 3, 4, 5, 6))


def _provenance(known: Card) -> list[tuple[str, str]]:
    return [
        ("checkpoint", known.digest),
        ("fine-tuned from", known.parent or "nothing"),
        ("settings", ", ".join(f"{name} {value}" for name, value in known.settings.items())),
        ("training", ", ".join(f"{name} {value}" for name, value in known.training.items())),
        ("seed", str(known.seed)),
        ("versions", ", ".join(f"{name} {version}" for name, version in known.versions.items())),
        ("instructions", "; ".join(known.instructions)),
    ]
