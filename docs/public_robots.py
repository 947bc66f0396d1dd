"""The part of docs/robots.md on public models, from the results of benchmarks/public_robots.py."""

from collections.abc import Mapping
from typing import Any

ENOUGH = 14
NOT_MEASURED = "*Not measured.*"


def public_robots(results: Mapping[str, Any] | None) -> str:
    """A sentence with the counts, and a table of the models."""
    if not results:
        return NOT_MEASURED
    models = results["models"]
    good = sum(model["accepted"] >= ENOUGH for model in models.values())
    broken = sum("traceback" in model["message"] for model in models.values())
    refused = sum(bool(model["message"]) for model in models.values()) - broken
    head = (
        f"With {good} of {len(models)} models at least {ENOUGH} of {results['episodes']} episodes are accepted; "
        f"{refused} {'is' if refused == 1 else 'are'} refused with a message"
        + (f", and {broken} ended with a traceback." if broken else ".")
    )
    rows = [
        f"| {name} | [{model['repository']}](https://github.com/{model['repository']}) | {_outcome(model)} |"
        for name, model in models.items()
    ]
    return "\n".join([head, "", "| model | repository | accepted, or why not |", "|---|---|---|", *rows])


def _outcome(model: Mapping[str, Any]) -> str:
    if model["message"]:
        return _short(model["message"])
    reasons = ", ".join(f"{reason} {count}" for reason, count in model["rejected"].items())
    return f"{model['accepted']}" + (f" ({reasons})" if reasons else "")


def _short(message: str) -> str:
    """The beginning of a message, without the command and the path."""
    text = " ".join(message.removeprefix("twinloop: ").partition(": ")[2].split())
    return f"`{text.replace('|', '/').replace('`', chr(39))[:100].rstrip()} …`"
