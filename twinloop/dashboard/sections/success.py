"""Where in the parameters' ranges episodes succeed, and where they do not."""

from twinloop.curate.rates import ParameterRates
from twinloop.dashboard.charts import rates
from twinloop.dashboard.labels import unit_label, with_unit
from twinloop.dashboard.page import PageSection, card, cards, text
from twinloop.dashboard.report_data import ReportData
from twinloop.dashboard.svg import number, percent

MOST_COLUMNS = 24
MOST_FINDINGS = 3
TITLE = "Success against each parameter"


def section(material: ReportData) -> PageSection:
    found = material.summary.by_parameter
    overall = material.summary.success
    if not overall.trials:
        return PageSection("success", TITLE, text("No attempt has been written yet."))
    if not found:
        said = f"No parameter varied; {percent(overall.value)} of {overall.trials:,} attempts succeeded."
        return PageSection("success", TITLE, text(said))
    falls = [each for each in found if each.fall]
    lead = text(
        f"{percent(overall.value)} of {overall.trials:,} attempts ended in success. Each point is a bin with equally "
        "many of them; its whisker is the 95 % interval of the rate, the dashed line the overall rate. The parameter "
        "with the strongest association comes first. Each is looked at by itself, over all values of the others."
    )
    if not overall.successes:
        lead += text("Nothing succeeded, so no parameter makes a difference yet: look at the verdicts first.")
    elif not falls:
        lead += text("No parameter clearly lowers success anywhere in its range.")
    if len(found) > MOST_COLUMNS:
        lead += text(f"The first {MOST_COLUMNS} of {len(found)} parameters are drawn.")
    inner = lead + cards([rate_card(each) for each in found[:MOST_COLUMNS]], "medium")
    return PageSection("success", TITLE, inner, tuple(map(fall_sentence, falls[:MOST_FINDINGS])))


def fall_sentence(found: ParameterRates) -> str:
    """`Success falls at low friction_coefficient: 12 % (6 % to 22 %) between 0.02 and 0.12, 86 % overall.`"""
    fall = found.fall
    if fall is None:
        return ""
    low, high = fall.rate.interval
    first, last = float(found.edges[0, 0]), float(found.edges[-1, 1])
    at = "at low" if fall.low == first else "at high" if fall.high == last else "within"
    span = with_unit(f"{number(fall.low)} and {number(fall.high)}", found.column)
    return (
        f"Success falls {at} {found.column}: {percent(fall.rate.value)} ({percent(low)} to "
        f"{percent(high)}) between {span}, against {percent(fall.overall.value)} overall."
    )


def rate_card(found: ParameterRates) -> str:
    chart = rates(found, unit_label(found.column), f"success against {found.column}")
    said = fall_sentence(found) or f"No clear fall (association {found.strength:.2f} of 1)."
    return card(found.column, chart, said, called=found.fall is not None)
