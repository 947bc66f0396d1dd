"""A decision on a terminal: the verdict first, then every rule."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from twinloop.dashboard.decision import shown
from twinloop.gate.decision import Decision


def print_decision(console: Console, decision: Decision, *, entered: bool = True) -> None:
    """entered: False for a step that was only looked at."""
    console.print()
    if not entered:
        console.print(f"Next: {decision.asked.replace(' -> ', ' → ')}. Missing for it:", markup=False)
    else:
        console.print(Text(decision.sentence, style="bold green" if decision.promoted else "bold red"))
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in ("", "rule", "measured", "asked", "found"):
        table.add_column(name, justify="right" if name in ("measured", "asked") else "left", no_wrap=name != "found")
    for each in decision.findings if entered else decision.failed:
        mark = Text("✓", style="green") if each.passed else Text("✗", style="red")
        limit = shown(each.limit, each)
        asked = limit if each.compared == "is" else f"{each.compared} {limit}"
        table.add_row(mark, Text(each.rule), Text(shown(each.measured, each)), Text(asked), Text(each.said))
    console.print(table)
