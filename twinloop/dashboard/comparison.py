"""The page of a comparison: two datasets side by side, channel by channel."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.dashboard.charts import Line, lines
from twinloop.dashboard.charts.channels import quantity
from twinloop.dashboard.charts.intervals import Estimate, from_zero, interval_dots
from twinloop.dashboard.formatting import interval, number, percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.picture_gap import explanation_rows, gap_row, mismatch_strips
from twinloop.dashboard.vega import BLUE, ORANGE, Chart
from twinloop.diagnose.compare import ChannelComparison, DatasetComparison, DatasetSide
from twinloop.signals import Response
from twinloop.signals.motion import BANDS_HZ

MAX_CHARTS = 24
CELLS = 48
CLEAR_P, CLEAR_SHARE = 0.05, 0.1
"""A channel is called different from this p value and this share of its span on."""


def write_comparison_page(target: Path, comparison: DatasetComparison) -> Path:
    return write_page(target, render_comparison(comparison))


def render_comparison(comparison: DatasetComparison) -> str:
    ours, theirs = comparison.ours, comparison.theirs
    channels = sorted(comparison.channels, key=lambda channel: -channel.distance.share)
    driven = [channel for channel in comparison.channels if channel.tracking and channel.response]
    clear = [channel for channel in channels if _is_clear(channel)]
    return render_page(
        "comparison.html",
        title=f"{ours.name} and {theirs.name} · twinloop",
        media=("pictures",) if comparison.gaps else (),
        heading=f"{ours.name} and {theirs.name}",
        lead=" · ".join(f"{side.name}: {side.source}, {side.robot}, {side.rate_hz:g} Hz" for side in (ours, theirs)),
        findings=[*_rate_finding(comparison), *_distribution_finding(channels, clear), *_delay_finding(comparison),
                  *_brightness_findings(comparison), *_picture_findings(comparison)],
        names=(ours.name, theirs.name),
        colours={ours.name: BLUE, theirs.name: ORANGE},
        schema=_schema(comparison),
        distances=[_distance_row(channel) for channel in channels],
        densities=[
            (channel.channel, _density(channel, comparison)) for channel in (clear or channels[:3])[:MAX_CHARTS]
        ],
        clear=len(clear),
        responses=[_response_row(channel) for channel in driven],
        delays=_delay_chart(driven),
        bands=[f"{low:g}+ Hz" for low in BANDS_HZ[:-3]],
        motions=[row for channel in comparison.channels for row in _motion_rows(channel, comparison)],
        cameras=_camera_rows(comparison),
        gaps_of_pictures=[gap_row(gap) for gap in comparison.gaps],
        explanations=[(explanation.camera, percent(explanation.explained), explanation_rows(explanation))
                      for explanation in comparison.explanations],
        mismatches=[(gap.camera, mismatch_strips(gap, (ours.name, theirs.name))) for gap in comparison.gaps],
        unmatched=list(comparison.unmatched.items()),
    )  # fmt: skip


def response_text(response: Response) -> str:
    """`41 ms (36 to 46), lag 60 ms (55 to 66)`, or why it is not known."""
    if response.unknown:
        return f"unknown: {response.unknown}"
    low, high = (1e3 * end for end in response.delay_interval_s)
    lag_low, lag_high = (1e3 * end for end in response.lag_interval_s)
    delay = f"{1e3 * response.delay_s:.0f} ms ({low:.0f} to {high:.0f})"
    return f"{delay}, lag {1e3 * response.lag_s:.0f} ms ({lag_low:.0f} to {lag_high:.0f})"


def _is_clear(channel: ChannelComparison) -> bool:
    return channel.distance.p_value < CLEAR_P and channel.distance.share > CLEAR_SHARE


def _schema(comparison: DatasetComparison) -> list[tuple[str, str, str]]:
    facts: dict[str, Callable[[DatasetSide], str]] = {
        "source": lambda side: side.source,
        "robot": lambda side: side.robot,
        "declared rate": lambda side: f"{side.rate_hz:g} Hz",
        "measured rate": lambda side: f"{side.measured_hz:.4g} Hz",
        "episodes read": lambda side: f"{side.read:,} of {side.episodes:,}",
        "length": lambda side: f"{side.seconds / 60:.1f} min",
    }
    ours, theirs = comparison.ours, comparison.theirs
    features = dict.fromkeys((*ours.features, *theirs.features))
    return [
        *((name, text(ours), text(theirs)) for name, text in facts.items()),
        *((name, ours.features.get(name, "–"), theirs.features.get(name, "–")) for name in features),
    ]


def _rate_finding(comparison: DatasetComparison) -> list[str]:
    ours_hz, theirs_hz = comparison.ours.rate_hz, comparison.theirs.rate_hz
    different = abs(ours_hz / theirs_hz - 1) > 0.01
    return [f"They run at different rates: {ours_hz:g} and {theirs_hz:g} Hz."] if different else []


def _distribution_finding(channels: Sequence[ChannelComparison], clear: Sequence[ChannelComparison]) -> list[str]:
    if not clear:
        return []
    worst = clear[0]
    most = f"{worst.channel} by {number(worst.distance.wasserstein)} {worst.unit}".strip()
    return [f"{len(clear)} of {len(channels)} channels have different distributions; the largest difference is {most}."]


def _distance_row(channel: ChannelComparison) -> tuple[str, ...]:
    distance = channel.distance
    return (
        channel.channel, f"{number(distance.wasserstein)} {channel.unit}".strip(), interval(*distance.interval),
        percent(distance.share), percent(distance.ks), number(distance.p_value), channel.caution,
    )  # fmt: skip


def _density(channel: ChannelComparison, comparison: DatasetComparison) -> Chart:
    samples = comparison.samples[channel.channel]
    low, high = np.quantile(np.concatenate(samples), (0.002, 0.998))
    room = (high - low) * 0.04 or 0.5
    edges = np.linspace(low - room, high + room, CELLS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    shares = [np.histogram(np.clip(side, edges[0], edges[-1]), edges)[0] / len(side) for side in samples]
    names = (comparison.ours.name, comparison.theirs.name)
    series = [
        Line(name, middles, share, colour)
        for name, share, colour in zip(names, shares, (BLUE, ORANGE), strict=True)
    ]  # fmt: skip
    top = max(float(share.max()) for share in shares) or 1.0
    x = quantity("x", channel.unit or "as recorded", domain=(edges[0], edges[-1]), ticks=4)
    y = quantity("y", "share", domain=(0, top * 1.08), ticks=3)
    return lines(series, x, y, f"distribution of {channel.channel} in both", width=340, height=120)


def _response_row(channel: ChannelComparison) -> tuple[str, ...]:
    assert channel.tracking is not None
    assert channel.response is not None
    errors = [f"{number(side.rms)} {channel.unit}".strip() for side in channel.tracking]
    totals = ["–" if side.unknown else f"{1e3 * side.total_s:.0f}" for side in channel.response]
    return (channel.channel, *errors, *map(response_text, channel.response), f"{totals[0]} and {totals[1]} ms")


def _delay_chart(driven: Sequence[ChannelComparison]) -> Chart | None:
    estimates = [
        Estimate(
            channel.channel.removeprefix("observation.state/"),
            1e3 * side.total_s, 1e3 * side.total_interval_s[0], 1e3 * side.total_interval_s[1],
            f"{1e3 * side.total_s:.0f} ms", colour,
        )
        for channel in driven
        for side, colour in zip(channel.response or (), (BLUE, ORANGE), strict=True)
        if not side.unknown
    ]  # fmt: skip
    if not estimates:
        return None
    x = from_zero([estimate.high for estimate in estimates], "delay and lag (ms)")
    return interval_dots(estimates, x, "delay and lag together, by joint and dataset", width=620)


def _delay_finding(comparison: DatasetComparison) -> list[str]:
    differences = [
        channel.response[1].total_s - channel.response[0].total_s
        for channel in comparison.channels
        if channel.response and not any(side.unknown for side in channel.response)
    ]
    if not differences:
        return []
    median_ms = 1e3 * float(np.median(differences))
    if abs(median_ms) < 3:
        return [f"Joints follow equally late in both, to {abs(median_ms):.0f} ms."]
    direction = "later" if median_ms > 0 else "earlier"
    ours, theirs = comparison.ours.name, comparison.theirs.name
    return [f"Joints of {theirs} follow {abs(median_ms):.0f} ms {direction} than those of {ours} (median)."]


def _motion_rows(channel: ChannelComparison, comparison: DatasetComparison) -> list[tuple[str, ...]]:
    rows = []
    for side, name in enumerate((comparison.ours.name, comparison.theirs.name)):
        motion, noise = channel.motion[side], channel.noise[side]
        shares = [percent(share) for share in motion.power[: len(BANDS_HZ) - 3]]
        shares += ["–"] * (len(BANDS_HZ) - 3 - len(shares))
        floor = noise.unknown or f"{number(noise.std)} over {noise.still_s:.0f} s"
        rows.append(
            (channel.channel if side == 0 else "", name, number(motion.speed_p95), number(motion.jerk_rms),
             f"{number(motion.band_hz)} Hz", *shares, floor, number(noise.quantum))
        )  # fmt: skip
    return rows


def _camera_rows(comparison: DatasetComparison) -> list[tuple[Any, ...]]:
    rows = []
    for camera, sides in comparison.cameras.items():
        for place, (side, name) in enumerate(zip(sides, (comparison.ours.name, comparison.theirs.name), strict=True)):
            values = (side.brightness, side.contrast, side.saturation, side.red, side.green, side.blue,
                      side.sharpness, side.between)  # fmt: skip
            rows.append((camera if place == 0 else "", name, *map(number, values)))
    return rows


def _picture_findings(comparison: DatasetComparison) -> list[str]:
    findings = []
    for gap in comparison.gaps:
        if gap.differs:
            most = max(gap.families, key=lambda family: gap.families[family], default="")
            about = f", most in {most}" if most else ""
            findings.append(
                f"Images of {gap.camera} come from different distributions (p {number(gap.p_value)}){about}."
            )
    for explanation in comparison.explanations:
        clear = [row.column for row in explanation.rows if row.is_clear][:3]
        if clear:
            findings.append(
                f"{', '.join(clear)} explain {percent(explanation.explained)} of what {explanation.camera} differs by."
            )
    return findings


def _brightness_findings(comparison: DatasetComparison) -> list[str]:
    findings = []
    for camera, (ours, theirs) in comparison.cameras.items():
        if abs(theirs.brightness - ours.brightness) > 0.1:
            comparative = "brighter" if theirs.brightness > ours.brightness else "darker"
            values = f"{theirs.brightness:.2f}, not {ours.brightness:.2f}"
            findings.append(f"{camera} is {comparative} in {comparison.theirs.name}: {values}.")
    return findings
