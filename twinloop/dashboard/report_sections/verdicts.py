"""Verdicts of the attempts, and the meaning of each reason for rejection."""

import math
from dataclasses import fields
from typing import Any

from twinloop.config.yaml_file import parse_yaml
from twinloop.curate.checks import CHECKS
from twinloop.curate.limits import CurateConfig
from twinloop.curate.verdict import ACCEPTED
from twinloop.dashboard.charts import Bar, bars
from twinloop.dashboard.formatting import number, percent
from twinloop.dashboard.labels import reason_label
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.vega import GREEN, ORANGE
from twinloop.errors import UsageError

MAX_REASONS = 14


def verdicts(data: ReportData) -> dict[str, Any]:
    accepted, rejected = data.summary.accepted, data.summary.rejected
    if not accepted.trials:
        return {"attempts": 0, "findings": ()}
    common = list(rejected.items())[:MAX_REASONS]
    rows = [Bar(ACCEPTED, accepted.successes, GREEN)]
    rows += [Bar(reason_label(reason), count, ORANGE) for reason, count in common]
    rest = sum(rejected.values()) - sum(count for _, count in common)
    rows += [Bar(f"{len(rejected) - len(common)} others", rest, ORANGE)] if rest else []
    failed, passed = _checks(data)
    return {
        "attempts": accepted.trials,
        "chart": bars(rows, "attempts by verdict", total=accepted.trials),
        "failed": failed,
        "passed": passed,
        "findings": _findings(data),
    }


def _findings(data: ReportData) -> tuple[str, ...]:
    accepted, rejected = data.summary.accepted, data.summary.rejected
    if not rejected:
        return (f"All {accepted.trials:,} attempts were accepted.",)
    reason, count = next(iter(rejected.items()))
    share = f"{percent(1 - accepted.value)} of attempts were rejected"
    if len(rejected) == 1:
        return (f"{share}, all of them for “{reason_label(reason)}”.",)
    of_rejected = percent(count / sum(rejected.values()))
    return (f"{share}. The most common reason is “{reason_label(reason)}” ({of_rejected} of the rejected).",)


def _checks(data: ReportData) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Rows of the checks that rejected attempts, and of those that rejected none."""
    limits, rejected = _limits(data.config_text), data.summary.rejected
    rows = [
        (check.name, check.asks, "–" if limits is None else _limit_text(check.limit(limits), check.unit),
         f"{rejected.get(check.name, 0):,}")
        for check in CHECKS
    ]  # fmt: skip
    failed = [row for row in rows if rejected.get(row[0])]
    known = {check.name for check in CHECKS}
    failed += [(reason, "", "–", f"{count:,}") for reason, count in rejected.items() if reason not in known]
    return failed[: len(CHECKS) + MAX_REASONS], [row for row in rows if not rejected.get(row[0])]


def _limits(config_text: str) -> CurateConfig | None:
    """The limits of the run. They are read alone, since the files of the scene may not be on this machine."""
    try:
        given = parse_yaml(config_text, "config.yaml")[0].get("curate", {})
        known = {field.name for field in fields(CurateConfig)}
        return CurateConfig(**{name: value for name, value in given.items() if name in known})
    except (UsageError, AttributeError):
        return None


def _limit_text(limit: object, unit: str) -> str:
    if not isinstance(limit, int | float):
        return "–"
    if math.isnan(limit):
        return "set by the task"
    if math.isinf(limit):
        return "anything"
    if not unit:
        return "no"
    if limit == 0:
        return "none"
    return f"{number(100 * limit)} % at most" if unit == "of limit" else f"{number(limit)} {unit} at most"
