"""The page of a comparison: two datasets side by side, channel by channel."""

from pathlib import Path

import numpy as np

from twinloop.dashboard.page import PageSection, card, cards, legend, page, table, text, write_page
from twinloop.dashboard.svg import Axis, Plot, canvas, number, percent, points, px, safe, tooltip
from twinloop.diagnose.compare import ChannelComparison, DatasetComparison, DatasetSide
from twinloop.diagnose.signals import Response
from twinloop.diagnose.signals.motion import BANDS_HZ

MOST_CARDS = 60
CELLS = 48


def write_comparison_page(target: Path, found: DatasetComparison) -> Path:
    return write_page(target, render_comparison(found))


def render_comparison(found: DatasetComparison) -> str:
    ours, theirs = found.ours.name, found.theirs.name
    sections = [
        _schema(found),
        _distributions(found),
        _following(found),
        _moving(found),
        _pictures(found),
        _unmatched(found),
    ]
    findings = [finding for section in sections for finding in section.findings]
    listed = "".join(f"<li>{safe(each)}</li>" for each in findings)
    note = f'<div class="note"><b>What stands out</b><ul>{listed}</ul></div>' if findings else ""
    links = "".join(f'<a href="#{each.anchor}">{safe(each.title)}</a>' for each in sections)
    head = f'<header><h1>{safe(ours)} and {safe(theirs)}</h1><p class="lead">{safe(_lead(found))}</p></header>'
    body = "".join(each.html() for each in sections)
    return page(f"{ours} and {theirs} · twinloop", f"{head}<nav>{links}</nav>{note}{body}")


def response_text(found: Response) -> str:
    """`41 ms (36 to 46) + 60 ms lag (55 to 66)`, or why not."""
    if found.unknown:
        return f"cannot tell: {found.unknown}"
    low, high = (1e3 * end for end in found.delay_interval_s)
    slow, slower = (1e3 * end for end in found.lag_interval_s)
    late = f"{1e3 * found.delay_s:.0f} ms ({low:.0f} to {high:.0f})"
    return f"{late}, lag {1e3 * found.lag_s:.0f} ms ({slow:.0f} to {slower:.0f})"


def _lead(found: DatasetComparison) -> str:
    return " · ".join(
        f"{side.name}: {side.source}, {side.robot}, {side.rate_hz:g} Hz" for side in (found.ours, found.theirs)
    )


def _schema(found: DatasetComparison) -> PageSection:
    def row(what: str, say) -> tuple[str, str, str]:
        return what, say(found.ours), say(found.theirs)

    rows = [
        row("source", lambda side: side.source),
        row("robot", lambda side: side.robot),
        row("declared rate", lambda side: f"{side.rate_hz:g} Hz"),
        row("measured rate", lambda side: f"{side.measured_hz:.4g} Hz"),
        row("episodes read", lambda side: f"{side.read:,} of {side.episodes:,}"),
        row("length", _minutes),
    ]
    names = dict.fromkeys((*found.ours.features, *found.theirs.features))
    rows += [(name, found.ours.features.get(name, "–"), found.theirs.features.get(name, "–")) for name in names]
    findings = ()
    if abs(found.ours.rate_hz / found.theirs.rate_hz - 1) > 0.01:
        findings = (f"They run at different rates: {found.ours.rate_hz:g} and {found.theirs.rate_hz:g} Hz.",)
    return PageSection("schema", "What they hold", table(("", found.ours.name, found.theirs.name), rows), findings)


def _minutes(side: DatasetSide) -> str:
    return f"{side.seconds / 60:.1f} min"


def _distributions(found: DatasetComparison) -> PageSection:
    title = "How values are distributed"
    if not found.channels:
        return PageSection("distributions", title, text("No channel is in both."))
    ordered = sorted(found.channels, key=lambda each: -each.distance.share)
    head = ("channel", "moved by", "95 % interval", "of the span", "largest gap", "p", "remark")
    rows = [
        (
            each.channel, f"{number(each.distance.wasserstein)} {each.unit}".strip(),
            f"{number(each.distance.interval[0])} to {number(each.distance.interval[1])}", percent(each.distance.share),
            percent(each.distance.ks), number(each.distance.p_value), each.caution,
        )
        for each in ordered
    ]  # fmt: skip
    lead = text(
        "How far values of one have to be moved, on average, to be distributed as the other's (Wasserstein distance); "
        "the largest gap between the two distribution functions (Kolmogorov-Smirnov). Intervals draw episodes, not "
        "rows. p is how often episodes shuffled between the two are as far apart."
    )
    shown = cards([_density(each, found) for each in ordered[:MOST_CARDS]], "medium")
    clear = [each for each in ordered if each.distance.p_value < 0.05 and each.distance.share > 0.1]
    findings = ()
    if clear:
        worst = clear[0]
        where = f"{worst.channel} by {number(worst.distance.wasserstein)} {worst.unit}".strip()
        findings = (f"{len(clear)} of {len(ordered)} channels are distributed differently, most of all {where}.",)
    return PageSection(
        "distributions", title, lead + table(head, rows, numbers=(1, 3, 4, 5)) + _legend(found) + shown, findings
    )


def _legend(found: DatasetComparison) -> str:
    return legend([("line", found.ours.name), ("second", found.theirs.name)])


def _density(channel: ChannelComparison, found: DatasetComparison) -> str:
    ours, theirs = found.samples[channel.channel]
    low, high = np.quantile(np.concatenate([ours, theirs]), (0.002, 0.998))
    room = (high - low) * 0.04 or 0.5
    edges = np.linspace(low - room, high + room, CELLS + 1)
    heights = [np.histogram(np.clip(side, edges[0], edges[-1]), edges)[0] / len(side) for side in (ours, theirs)]
    top = max(float(side.max()) for side in heights) or 1.0
    plot = Plot(
        Axis(float(edges[0]), float(edges[-1]), channel.unit or "as recorded", about=4),
        Axis(0, top * 1.08, "share", about=3),
        f"distribution of {channel.channel} in both", width=380, height=180,
    )  # fmt: skip
    middles = (edges[1:] + edges[:-1]) / 2
    names, colours = (found.ours.name, found.theirs.name), ("--blue", "--orange")
    lines = [
        f'<polyline fill="none" stroke-width="1.8" style="stroke:var({colour})" '
        f'points="{points(plot.x(middles), plot.y(side))}">{tooltip(name)}</polyline>'
        for side, colour, name in zip(heights, colours, names, strict=True)
    ]
    return card(channel.channel, plot.draw(*lines))


def _following(found: DatasetComparison) -> PageSection:
    title = "How joints follow their commands"
    driven = [each for each in found.channels if each.tracking is not None and each.response is not None]
    if not driven:
        return PageSection("following", title, text("No channel has commands in both."))
    head = (
        "channel", f"error, {found.ours.name}", f"error, {found.theirs.name}", f"delay and lag, {found.ours.name}",
        f"delay and lag, {found.theirs.name}", "delay and lag together",
    )  # fmt: skip
    rows = []
    for each in driven:
        assert each.tracking is not None
        assert each.response is not None
        errors = [f"{number(side.rms)} {each.unit}".strip() for side in each.tracking]
        rows.append((each.channel, *errors, *map(response_text, each.response), _totals(each)))
    lead = text(
        "Error is the root of the mean square of command minus measurement. Delay is a dead time and lag a first-order "
        "time constant, fitted to increments of a tenth of a second with commands taken as held until the next; "
        "intervals are 95 %. What cannot be told is said so: a joint that does not move says nothing."
    )
    return PageSection(
        "following",
        title,
        lead + table(head, rows, numbers=(1, 2)) + _totals_chart(driven, found),
        _later(driven, found),
    )


def _totals(each: ChannelComparison) -> str:
    assert each.response is not None
    parts = ["–" if side.unknown else f"{1e3 * side.total_s:.0f}" for side in each.response]
    return f"{parts[0]} and {parts[1]} ms"


def _totals_chart(driven: list[ChannelComparison], found: DatasetComparison) -> str:
    """A whisker a side and channel: how far behind it is, and how sure that is."""
    known = [each for each in driven if each.response and not all(side.unknown for side in each.response)]
    if not known:
        return ""
    ends = [1e3 * side.total_interval_s[1] for each in known for side in each.response or () if not side.unknown]
    row, left, width = 34, 230, 760
    room = width - left - 90
    scale = room / max(*ends, 1.0)
    marks = []
    for place, each in enumerate(known):
        label = each.channel.removeprefix("observation.state/")
        marks.append(
            f'<text class="label" x="{left - 8}" y="{px(place * row + 21)}" text-anchor="end">{safe(label)}</text>'
        )
        for half, (side, name, colour) in enumerate(
            zip(each.response or (), (found.ours.name, found.theirs.name), ("--blue", "--orange"), strict=True)
        ):
            if side.unknown:
                continue
            y = place * row + 11 + 12 * half
            low, high = (left + 1e3 * end * scale for end in side.total_interval_s)
            at = left + 1e3 * side.total_s * scale
            said = f"{name}: {1e3 * side.total_s:.0f} ms"
            marks.append(
                f'<path d="M{px(low)} {y}H{px(high)}" style="stroke:var({colour})" stroke-width="2"/>'
                f'<circle cx="{px(at)}" cy="{y}" r="4" style="fill:var({colour})">{tooltip(said)}</circle>'
                f'<text x="{px(max(high, at) + 8)}" y="{y + 4}">{1e3 * side.total_s:.0f} ms</text>'
            )
    drawn = canvas(width, len(known) * row, "delay and lag together, by joint and dataset", *marks)
    return card("How far behind its command each joint is", drawn) + _legend(found)


def _later(driven: list[ChannelComparison], found: DatasetComparison) -> tuple[str, ...]:
    apart = [
        each.response[1].total_s - each.response[0].total_s
        for each in driven
        if each.response and not any(side.unknown for side in each.response)
    ]
    if not apart:
        return ()
    middle = 1e3 * float(np.median(apart))
    if abs(middle) < 3:
        return (f"Joints follow equally late in both, to {abs(middle):.0f} ms.",)
    word = "later" if middle > 0 else "earlier"
    return (
        f"Joints of {found.theirs.name} follow {abs(middle):.0f} ms {word} than those of {found.ours.name} (median).",
    )


def _moving(found: DatasetComparison) -> PageSection:
    title = "Speed, frequencies and noise"
    head = (
        "channel", "", "speed, 95 %", "jerk", "95 % of power below", *(f"{low:g}+ Hz" for low in BANDS_HZ[:-3]),
        "noise at rest", "smallest step",
    )  # fmt: skip
    rows = []
    for each in found.channels:
        for side, name in enumerate((found.ours.name, found.theirs.name)):
            moved, noise = each.motion[side], each.noise[side]
            shares = [percent(share) for share in moved.power[: len(BANDS_HZ) - 3]]
            shares += ["–"] * (len(BANDS_HZ) - 3 - len(shares))
            floor = noise.unknown or f"{number(noise.std)} over {noise.still_s:.0f} s"
            rows.append(
                (
                    each.channel if side == 0 else "", name, number(moved.speed_p95), number(moved.jerk_rms),
                    f"{number(moved.band_hz)} Hz", *shares, floor, number(noise.quantum),
                )
            )  # fmt: skip
    lead = text(
        "Speeds and jerk per second and per second³ in the channel's unit; the share of the speed's power in each band "
        "from that frequency on; noise is the deviation within half seconds in which the channel rests."
    )
    return PageSection(
        "moving", title, lead + table(head, rows, numbers=(2, 3, 4)) if rows else text("No channel is in both.")
    )


def _pictures(found: DatasetComparison) -> PageSection:
    title = "Pictures"
    if not found.cameras:
        return PageSection("pictures", title, text("No camera is in both."))
    head = ("camera", "", "brightness", "contrast", "saturation", "red", "green", "blue", "sharpness", "varies by")
    rows, findings = [], []
    for camera, both in found.cameras.items():
        for side, name in zip(both, (found.ours.name, found.theirs.name), strict=True):
            values = (
                side.brightness,
                side.contrast,
                side.saturation,
                side.red,
                side.green,
                side.blue,
                side.sharpness,
                side.between,
            )
            rows.append((camera if name == found.ours.name else "", name, *map(number, values)))
        apart = both[1].brightness - both[0].brightness
        if abs(apart) > 0.1:
            word = "brighter" if apart > 0 else "darker"
            findings.append(
                f"{camera} is {word} in {found.theirs.name}: {both[1].brightness:.2f}, not {both[0].brightness:.2f}."
            )
    said = text(
        "Each from 0 to 1, of a few pictures of a few episodes. Sharpness is the mean step between neighbouring pixels."
    )
    return PageSection("pictures", title, said + table(head, rows, numbers=tuple(range(2, 10))), tuple(findings))


def _unmatched(found: DatasetComparison) -> PageSection:
    if not found.unmatched:
        return PageSection("unmatched", "Not compared", text("Everything that was measured is in both."))
    return PageSection("unmatched", "Not compared", table(("channel", "why"), list(found.unmatched.items())))
