"""What became of the attempts, and which question each reason for rejection answers."""

import math
from dataclasses import fields

from twinloop.config.yaml_file import parse_yaml
from twinloop.curate.checks import CHECKS
from twinloop.curate.limits import CurateConfig
from twinloop.curate.verdict import ACCEPTED
from twinloop.dashboard.charts import Bar, bars
from twinloop.dashboard.labels import reason_label
from twinloop.dashboard.page import PageSection, card, cards, table, text
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.svg import number, percent
from twinloop.errors import UsageError

MOST_REASONS = 14


def section(material: ReportData) -> PageSection:
    accepted, rejected = material.summary.accepted, material.summary.rejected
    if not accepted.trials:
        return PageSection("verdicts", "Verdicts", text("No attempt has been written yet."))
    shown = list(rejected.items())[:MOST_REASONS]
    rows = [
        Bar(ACCEPTED, accepted.successes, "good"),
        *(Bar(reason_label(reason), count, "bad") for reason, count in shown),
    ]
    rest = sum(rejected.values()) - sum(count for _, count in shown)
    rows += [Bar(f"{len(rejected) - len(shown)} others", rest, "bad")] if rest else []
    chart = card(
        "Attempts by verdict",
        bars(rows, "attempts by verdict", total=accepted.trials),
        "An attempt is rejected for the first check it fails, in the order of the table. Only accepted episodes "
        "become training data.",
    )
    lead = text("Every attempt is checked for physical plausibility first and for success last.")
    return PageSection("verdicts", "Verdicts", lead + cards([chart, _questions(material)]), _findings(material))


def _findings(material: ReportData) -> tuple[str, ...]:
    accepted, rejected = material.summary.accepted, material.summary.rejected
    if not rejected:
        return (f"All {accepted.trials:,} attempts were accepted.",)
    reason, count = next(iter(rejected.items()))
    said = f"{percent(1 - accepted.value)} of attempts were rejected"
    if len(rejected) == 1:
        return (f"{said}, all of them for “{reason_label(reason)}”.",)
    share = percent(count / sum(rejected.values()))
    return (f"{said}; the most common reason, in {share} of these, is “{reason_label(reason)}”.",)


def _questions(material: ReportData) -> str:
    limits = _limits(material.config_text)
    rejected = material.summary.rejected
    rows = [
        (check.name, check.asks, "–" if limits is None else _in_words(check.limit(limits), check.unit),
         f"{rejected.get(check.name, 0):,}")
        for check in CHECKS
    ]  # fmt: skip
    failed = [row for row in rows if rejected.get(row[0])]
    passed = [row for row in rows if not rejected.get(row[0])]
    known = {check.name for check in CHECKS}
    failed += [(reason, "", "–", f"{count:,}") for reason, count in rejected.items() if reason not in known]
    head = ("check", "asks", "passes with", "rejected")
    inner = table(head, failed[: len(CHECKS) + MOST_REASONS], numbers=(2, 3)) if failed else ""
    if passed:
        content = table(head, passed, numbers=(2, 3))
        inner += f"<details><summary>{len(passed)} checks that no attempt failed</summary>{content}</details>"
    return card("The checks", inner, "Limits are this run’s own; they are under `curate:` in its config.")


def _limits(config_text: str) -> CurateConfig | None:
    """The run's limits. Read by themselves, since the scene's files need not be on this machine."""
    try:
        given = parse_yaml(config_text, "config.yaml")[0].get("curate", {})
        known = {field.name for field in fields(CurateConfig)}
        return CurateConfig(**{name: value for name, value in given.items() if name in known})
    except (UsageError, AttributeError):
        return None


def _in_words(limit: object, unit: str) -> str:
    if not isinstance(limit, int | float):
        return "–"
    if math.isinf(limit):
        return "anything"
    if not unit:
        return "no"
    if limit == 0:
        return "none"
    return f"{number(100 * limit)} % at most" if unit == "of limit" else f"{number(limit)} {unit} at most"
