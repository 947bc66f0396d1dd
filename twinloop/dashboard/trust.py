"""The page of trust: success rates in the twin against real ones, task by task, and how well they predict."""

from pathlib import Path

import numpy as np

from twinloop.curate.intervals import wilson
from twinloop.dashboard.charts import RatePair, success_scatter
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.page import render_page, write_page
from twinloop.dashboard.vega import Chart
from twinloop.gate.statistics.agreement import Counted
from twinloop.gate.trust import TaskTrust, Trust

LINE_POINTS = 41


def write_trust_report(trust: Trust, path: Path, *, name: str) -> Path:
    return write_page(path, render_trust(trust, name=name))


def render_trust(trust: Trust, *, name: str) -> str:
    record = trust.record
    return render_page(
        "trust.html",
        title="Trust · twinloop",
        heading="How far to trust the twin",
        lead=name,
        pill=(trust.level, "good" if trust.level == "trusted" else "bad"),
        note="Why",
        findings=trust.reasons,
        confidence=trust.rules.confidence,
        tasks=[_task(task, trust.rules.confidence) for task in trust.tasks],
        record=record,
        # The evidence is a ratio that can be larger than the largest float.
        evidence=number(float(np.exp(min(record.log_evidence_against, 700)))),
        alarm=number(1 / trust.rules.error),
        predictions=[
            (
                prediction.task, prediction.policy, percent(prediction.band.sim),
                f"{percent(prediction.band.low)} to {percent(prediction.band.high)}", percent(prediction.real),
                "held" if prediction.held else "missed",
            )
            for task in trust.tasks
            for prediction in task.predictions
        ],
        pairs=[
            (task.task, pair.policy, _rate_text(pair.sim), _rate_text(pair.real),
             f"{100 * (pair.sim.rate - pair.real.rate):+.1f}")
            for task in trust.tasks
            for pair in task.pairs
        ],
    )  # fmt: skip


def agreement_text(task: TaskTrust) -> tuple[str, str]:
    """(correlation, rank violation), each with its interval, or "not known"."""
    agreement = task.agreement
    return (
        _with_interval(agreement.pearson, agreement.pearson_low, agreement.pearson_high),
        _with_interval(agreement.mmrv, agreement.mmrv_low, agreement.mmrv_high),
    )


def _with_interval(value: float | None, low: float, high: float) -> str:
    return "not known" if value is None else f"{value:.3f} ({low:.2f} to {high:.2f})"


def _task(task: TaskTrust, confidence: float) -> tuple[str, Chart, list[str], bool]:
    """(title, chart, texts, marked)"""
    correlation, violation = agreement_text(task)
    texts = [f"Correlation {correlation}, rank violation {violation}."]
    if task.level == "trusted":
        texts.append(f"{task.record.made - task.record.missed} of {task.record.made} predictions held.")
    else:
        texts += [f"{reason[:1].upper()}{reason[1:]}." for reason in task.reasons]
    title = f"{task.task}: {task.level}"
    return title, success_chart(task, confidence=confidence), texts, task.level == "distrusted"


def success_chart(task: TaskTrust, *, confidence: float) -> Chart:
    """One point a policy, with the predicted line and its band where there is one."""
    held = {prediction.policy: prediction.held for prediction in task.predictions}
    pairs = []
    for pair in task.pairs:
        tip = f"{pair.policy}: twin {_rate_text(pair.sim)}, real {_rate_text(pair.real)}"
        if pair.policy in held:
            tip += "; inside its band" if held[pair.policy] else "; outside its band"
        pairs.append(
            RatePair(
                pair.policy, pair.sim.rate, pair.real.rate, _interval(pair.sim), _interval(pair.real), tip,
                highlighted=not held.get(pair.policy, True),
            )
        )  # fmt: skip
    sim = np.linspace(0, 1, LINE_POINTS)
    bands = [task.predict(float(rate), confidence=confidence) for rate in sim]
    prediction = None
    if bands[0].estimate is not None:
        ends = {name: np.array([getattr(band, name) for band in bands], float) for name in ("estimate", "low", "high")}
        prediction = {"sim": sim, **ends}
    return success_scatter(pairs, f"success in reality against success in the twin, {task.task}", prediction=prediction)


def _interval(counted: Counted) -> tuple[float, float] | None:
    if counted.trials is None:
        return None
    low, high = wilson(counted.rate * counted.trials, counted.trials)
    return float(low), float(high)


def _rate_text(counted: Counted) -> str:
    trials = "" if counted.trials is None else f" of {counted.trials:,}"
    return f"{percent(counted.rate)}{trials}"
