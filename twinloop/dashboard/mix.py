"""The page of a mixture: loss on held-out real episodes and success against the share of simulated data."""

from pathlib import Path

import numpy as np

from twinloop.dashboard.charts import Line, lines
from twinloop.dashboard.charts.channels import quantity
from twinloop.dashboard.formatting import interval, number, percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.vega import BLUE, ORANGE, Chart
from twinloop.learn.mix_curve import MixCurve, MixPoint

PAGE = "mix.html"


def write_mix_page(curve: MixCurve, folder: Path) -> Path:
    return write_page(folder / PAGE, render_mix(curve))


def render_mix(curve: MixCurve) -> str:
    others = [percent(point.share) for point in curve.points if point.as_good and point.share != curve.share]
    same = f" These shares are not worse by the data: {', '.join(others)}." if others else ""
    return render_page(
        "mix.html",
        title="mixture · twinloop",
        heading=f"{percent(curve.share)} simulated, {percent(1 - curve.share)} real",
        lead=f"{curve.sim_episodes:,} simulated and {curve.real_episodes:,} real episodes; decided by {curve.by}",
        note=f"Train with --mix {curve.mix}.{same}",
        loss=_loss_chart(curve.points),
        success=_success_chart(curve.points),
        rows=[_row(point) for point in curve.points],
    )


def _row(point: MixPoint) -> tuple[str, ...]:
    rate = point.success
    success = f"{rate.successes} of {rate.trials} ({interval(*rate.interval)})" if rate is not None else "–"
    return (
        percent(point.share), number(point.loss), interval(point.low, point.high), number(point.worse),
        interval(point.worse_low, point.worse_high), success,
    )  # fmt: skip


def _loss_chart(points: tuple[MixPoint, ...]) -> Chart:
    share, loss, low, high = (np.array([getattr(p, name) for p in points]) for name in ("share", "loss", "low", "high"))
    line = Line("loss on held-out real episodes", share, loss, BLUE, low=low, high=high)
    x, y = quantity("x", "share of simulated data", domain=(0, 1)), quantity("y", "loss", domain=(0, float(high.max())))
    return lines([line], x, y, "loss on held-out real episodes by share of simulated data", dots=True, width=560)


def _success_chart(points: tuple[MixPoint, ...]) -> Chart | None:
    rated = [(point.share, point.success) for point in points if point.success is not None]
    if not rated:
        return None
    share = np.array([at for at, _ in rated])
    low, high = (np.array([rate.interval[end] for _, rate in rated]) for end in (0, 1))
    line = Line("success", share, np.array([rate.value for _, rate in rated]), ORANGE, low=low, high=high)
    x, y = quantity("x", "share of simulated data", domain=(0, 1)), quantity("y", "success", domain=(0, 1))
    return lines([line], x, y, "success in the twin of the target by share of simulated data", dots=True, width=560)
