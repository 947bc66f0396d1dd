"""Reliability plot and table of docs/diagnosing.md: stated probabilities against the share of open and costly gaps."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from twinloop.curate.intervals import wilson

BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
SIDE, MARGIN = 320, 56


def binned(rows: list[dict[str, Any]]) -> Iterator[dict[str, float]]:
    """For each bin that is not empty: its ends, number of pairs of a cell and a gap, mean probability, and hits."""
    pairs = [
        (row["probability"][gap], gap in row["gaps"] and row["costly"]) for row in rows for gap in row["probability"]
    ]
    for low, high in pairwise(BINS):
        inside = [pair for pair in pairs if low <= pair[0] < high or (high == 1.0 and pair[0] == 1.0)]
        if inside:
            mean = sum(probability for probability, _ in inside) / len(inside)
            hits = sum(true for _, true in inside)
            yield {"low": low, "high": high, "pairs": len(inside), "mean": mean, "hits": hits}


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Placeholder -> text."""
    lines = ["| probability | pairs of cell and gap | mean probability | open and costly |", "|---|---|---|---|"]
    for part in binned(results["rows"]):
        share = part["hits"] / part["pairs"]
        lines.append(
            f"| {part['low']:g} to {part['high']:g} | {part['pairs']:g} | {part['mean']:.2f} | {share:.2f} "
            f"({part['hits']:g}) |"
        )
    return {"DIAGNOSIS_RELIABILITY": "\n".join(lines)}


def plot(results: Mapping[str, Any]) -> str:
    """The plot as SVG: a dot for each bin, with its number of pairs and a 95 % interval; the diagonal is right."""
    size = SIDE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" height="{size}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{size}" height="{size}" fill="white"/>',
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>',
        f'<line x1="{MARGIN}" y1="{MARGIN + SIDE}" x2="{MARGIN + SIDE}" y2="{MARGIN}" stroke="#888" '
        'stroke-dasharray="5 4"/>',
    ]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_text(_x(tick), MARGIN + SIDE + 18, f"{tick:g}"))
        parts.append(_text(MARGIN - 20, _y(tick) + 4, f"{tick:g}"))
    for part in binned(results["rows"]):
        low, high = map(float, wilson(int(part["hits"]), int(part["pairs"])))
        x, y = _x(part["mean"]), _y(part["hits"] / part["pairs"])
        parts.append(f'<line x1="{x:.1f}" y1="{_y(low):.1f}" x2="{x:.1f}" y2="{_y(high):.1f}" stroke="#2457a6"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#2457a6"/>')
        parts.append(_text(x + 14, y - 8, f"{part['pairs']:g}"))
    parts.append(_text(MARGIN + SIDE / 2, size - 10, "stated probability that the gap costs success"))
    parts.append(
        f'<text transform="translate(14 {MARGIN + SIDE / 2}) rotate(-90)" text-anchor="middle">'
        "share of gaps that are open and costly</text>"
    )
    parts.append(_text(MARGIN + SIDE / 2, 30, f"{len(results['rows'])} cells, {results['episodes']} episodes each"))
    return "\n".join([*parts, "</svg>", ""])


def _x(share: float) -> float:
    return MARGIN + SIDE * share


def _y(share: float) -> float:
    return MARGIN + SIDE * (1 - share)


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{words}</text>'
