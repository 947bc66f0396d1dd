"""The page of a curation: scores of all episodes, the worst and the borderline ones as traces and films."""

import base64
import tempfile
from pathlib import Path

import numpy as np

from twinloop.curate.discriminator.words import aspect_of
from twinloop.dashboard.charts import Bar, bars
from twinloop.dashboard.charts.channels import quantity
from twinloop.dashboard.charts.counts import Layer, histogram
from twinloop.dashboard.charts.lines import Line, lines
from twinloop.dashboard.formatting import percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.vega import BLUE, ORANGE, Chart
from twinloop.dataset import Dataset
from twinloop.dataset.curation import Curation
from twinloop.dataset.video import VideoWriter
from twinloop.observe.recording import Feature

PAGE = "index.html"
WORST, BORDERLINE = 8, 6
BINS = 40
FILM_PIXELS = 192


def write_curation_page(folder: Path, dataset: Dataset, curation: Curation, *, films: bool = False) -> Path:
    return write_page(folder / PAGE, render_curation(dataset, curation, films=films))


def render_curation(dataset: Dataset, curation: Curation, *, films: bool = False) -> str:
    """The page as HTML. films: simulate episodes of a dataset without cameras again, and render them."""
    scores, rejected = curation.scores, curation.rejected
    order = np.argsort(-scores.values, kind="stable")
    worst = [int(row) for row in order if rejected[row]][:WORST]
    near = np.argsort(np.abs(scores.values - scores.threshold), kind="stable")
    borderline = [int(row) for row in near if curation.accepted[row] and row not in worst][:BORDERLINE]
    count = int(curation.accepted.sum())
    share = rejected.sum() / count if count else 0.0
    card = curation.curator.card
    films = films or any(feature.dtype == "video" for feature in dataset.header.pictures)
    return render_page(
        "curation.html",
        title=f"{dataset.header.name}: curation · twinloop",
        heading=f"{dataset.header.name}: curation",
        lead=f"{count:,} episodes that the checks accepted, {int(rejected.sum()):,} of them implausible",
        tiles=[
            (f"{int(rejected.sum()):,}", "implausible episodes"),
            (percent(share), "of the accepted ones"),
            (f"{scores.threshold:.2f}", "threshold of the score"),
            *([] if curation.test is None else [(f"{curation.test.auroc:.2f}", "AUROC, simulated against real")]),
        ],
        media=("films",) if films else (),
        footer="Made by twinloop. A score of 0 is where good episodes end; each 1 more is a factor of e.",
        scores=_histogram(curation),
        reasons=_reasons(curation),
        groups=[
            ("worst", "The worst episodes", [_episode_context(dataset, curation, row, films) for row in worst]),
            (
                "borderline",
                "Borderline episodes",
                [_episode_context(dataset, curation, row, films) for row in borderline],
            ),
        ],
        curator_card=[
            ("trained on", card.get("trained_on", {}).get("name", "–")),
            ("episodes", f"{card.get('episodes', 0):,}"),
            ("threshold", f"{scores.threshold:.3f}, by {card.get('threshold_by', '–')}"),
            ("false rejections, held-out", percent(card.get("false_rejections", 0.0))),
            ("curator", curation.curator.digest[:16]),
            ("table of scores", curation.digest[:16]),
        ],
        found=[(kind.replace("_", " "), percent(value)) for kind, value in card.get("found", {}).items()],
        test=_test(curation),
    )


def _histogram(curation: Curation) -> Chart:
    values = np.clip(curation.scores.values[curation.accepted], -2, 6)
    out = curation.rejected[curation.accepted]
    edges = np.linspace(-2, 6, BINS + 1)
    layers = [
        Layer("accepted", np.histogram(values[~out], edges)[0], BLUE),
        Layer("implausible", np.histogram(values[out], edges)[0], ORANGE),
    ]
    return histogram(edges, layers, "score", "scores of all accepted episodes", width=900)


def _reasons(curation: Curation) -> Chart | None:
    names = [aspect_of(aspect) for aspect, out in zip(curation.scores.aspects, curation.rejected, strict=True) if out]
    counts = sorted(((names.count(name), name) for name in set(names)), reverse=True)
    rows = [Bar(name.replace("_", " "), count, ORANGE) for count, name in counts[:12]]
    return bars(rows, "implausible episodes by the worst aspect", total=len(curation.accepted)) if rows else None


def _episode_context(dataset: Dataset, curation: Curation, row: int, films: bool) -> dict[str, object]:
    scores = curation.scores
    start = int(scores.lengths[:row].sum())
    frame_scores = scores.frames[start : start + int(scores.lengths[row])]
    attempt, rate = int(scores.attempts[row]), float(dataset.header.fps)
    time_s = np.arange(len(frame_scores)) / rate
    mark = [(float(scores.worst_frame[row] / rate), "worst frame")]
    charts = [
        lines([Line("residual", time_s, np.log10(np.maximum(frame_scores, 0.01)))], quantity("x", "s"),
              quantity("y", "log10 of residual"), "residual of every frame", rules=mark, area=True)
    ]  # fmt: skip
    feature, slash, element = scores.channels[row].partition("/")
    columns = {column.name: column for column in dataset.header.columns}
    if slash and feature in columns:
        values = dataset.episode(attempt=attempt)[feature].reshape(len(time_s), -1)
        names = columns[feature].names
        indices = [index for index, name in enumerate(names) if name == element or name.startswith(f"{element}.")][:3]
        if indices:
            series = [
                Line(names[index], time_s, values[:, index].astype(float), (BLUE, ORANGE, "var(--green)")[place])
                for place, index in enumerate(indices)
            ]
            title = ", ".join(names[index] for index in indices)
            charts.append(lines(series, quantity("x", "s"), quantity("y", title), scores.channels[row], rules=mark))
    return {
        "title": f"Attempt {attempt}: score {scores.values[row]:.2f}",
        "reason": scores.reasons[row],
        "charts": charts,
        "film": _film(dataset, attempt) if films else "",
    }


def _film(dataset: Dataset, attempt: int) -> str:
    """The first camera's video of an episode as base64; of a dataset without cameras, a film of the simulation."""
    feature = next((feature for feature in dataset.header.pictures if feature.dtype == "video"), None)
    rate: float = dataset.header.fps
    if feature is None:
        from twinloop.dataset.simulated_film import EVERY, simulated_film

        images, rate = simulated_film(dataset, attempt), rate / EVERY
    else:
        images = dataset.pictures(None, feature.name, attempt=attempt)
    step = max(1, max(images.shape[1:3]) // FILM_PIXELS)
    small = np.ascontiguousarray(images[:, ::step, ::step])
    height, width = (side - side % 2 for side in small.shape[1:3])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        with VideoWriter(path, Feature("film", "video", (height, width, 3)), rate) as writer:
            writer.write(np.ascontiguousarray(small[:, :height, :width]))
            writer.finish(len(small))
        return base64.b64encode(path.read_bytes()).decode()


def _test(curation: Curation) -> dict[str, object] | None:
    test = curation.test
    if test is None:
        return None
    low, high = test.interval
    sentence = (
        f"A classifier that was trained on other episodes tells {test.simulated} simulated from {test.real} real ones "
        f"with AUROC {test.auroc:.3f} (95 % interval {low:.3f} to {high:.3f}; p = {test.p_value:.3g}). "
        "0.5 means that it cannot tell them apart."
    )
    rows = [
        (channel.channel, f"{channel.auroc:.3f}", f"{channel.interval[0]:.3f} to {channel.interval[1]:.3f}")
        for channel in test.channels
    ]
    return {"sentence": sentence, "rows": rows[:20]}
