"""The page of a training: the data, the losses, and the error on held-out episodes."""

import math
from pathlib import Path

import numpy as np

from twinloop.dashboard.charts import Line, lines
from twinloop.dashboard.charts.channels import quantity
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.vega import BLUE, ORANGE, Chart
from twinloop.learn.card import Card
from twinloop.learn.optimise import LossRecord
from twinloop.learn.train import TrainResult

REPORT = "report.html"


def write_training_report(trained: TrainResult) -> Path:
    path = trained.checkpoint.path
    return write_page(path / REPORT, render_training(path.name, trained.checkpoint.card, trained.curve))


def render_training(name: str, card: Card, losses: tuple[LossRecord, ...]) -> str:
    inputs = ", ".join(feature.name for feature in card.space.inputs)
    return render_page(
        "training.html",
        title=f"{name} · twinloop",
        heading=name,
        lead=f"{card.policy} for {card.space.robot} at {card.space.rate_hz:g} Hz, reading {inputs}",
        losses=_loss_chart(losses),
        colours={"training batches": BLUE, "held-out episodes": ORANGE},
        remark=_remark(losses),
        errors=[(element, number(value)) for element, value in card.metrics["held_out_error"].items()],
        unit=card.space.action.unit,
        datasets=[
            (
                data["path"], data["kind"], f"{data['episodes']:,}", f"{data['held_out']:,}", f"{data['frames']:,}",
                percent(data["weight"]), data["run_seed"], data["digest"][:12],
            )
            for data in card.data
        ],
        provenance=[
            ("checkpoint", card.digest),
            ("fine-tuned from", card.parent or "nothing"),
            ("settings", ", ".join(f"{key} {value}" for key, value in card.settings.items())),
            ("training", ", ".join(f"{key} {value}" for key, value in card.training.items())),
            ("seed", str(card.seed)),
            ("versions", ", ".join(f"{package} {version}" for package, version in card.versions.items())),
            ("instructions", "; ".join(card.instructions)),
        ],
    )  # fmt: skip


def _loss_chart(losses: tuple[LossRecord, ...]) -> Chart:
    """Both losses on a logarithmic scale."""
    steps = np.array([record.step for record in losses], float)
    series = []
    for name, values, colour in (
        ("training loss", [record.loss for record in losses], BLUE),
        ("held-out loss", [record.held_out_loss for record in losses], ORANGE),
    ):
        loss = np.array(values, float)
        series.append(Line(name, steps, np.where(loss > 0, loss, np.nan), colour))
    known = np.concatenate([line.y[np.isfinite(line.y)] for line in series])
    low, high = math.floor(np.log10(known.min())), math.ceil(np.log10(known.max()) + 1e-9)
    powers = [10.0**power for power in range(low, max(high, low + 1) + 1)]
    x = quantity("x", "step", domain=(0, float(steps[-1])))
    y = quantity("y", "loss", domain=(powers[0], powers[-1]), ticks=powers, log=True)
    return lines(series, x, y, "losses over the steps of training", dots=True, width=640, height=220)


def _remark(losses: tuple[LossRecord, ...]) -> str:
    held_out = np.array([record.held_out_loss for record in losses])
    if not np.isfinite(held_out).any():
        return "No episode was held out, so generalization is not measured."
    best, last = int(np.nanargmin(held_out)), float(held_out[-1])
    if last > 1.1 * held_out[best]:
        return f"The held-out loss was lowest at step {losses[best].step:,}: use more data, or fewer steps."
    return f"The held-out loss is {number(last)} at the end, {percent(last / held_out[0])} of its first value."
