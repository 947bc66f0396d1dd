"""A decision on a terminal: the verdict first, then every rule."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from twinloop.dashboard.decision import limit_text, value_text
from twinloop.gate.decision import Decision


def print_decision(console: Console, decision: Decision, *, entered: bool = True) -> None:
    """Print a decision. entered: False for the next step, which was judged but not recorded."""
    console.print()
    if not entered:
        console.print(f"Next: {decision.transition.replace(' -> ', ' → ')}. Missing for it:", markup=False)
    else:
        console.print(Text(decision.sentence, style="bold green" if decision.promoted else "bold red"))
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in ("", "rule", "measured", "required", "found"):
        table.add_column(name, justify="right" if name in ("measured", "required") else "left", no_wrap=name != "found")
    for result in decision.findings if entered else decision.failed:
        mark = Text("✓", style="green") if result.passed else Text("✗", style="red")
        measured, required = value_text(result.measured, result), limit_text(result)
        table.add_row(mark, Text(result.rule), Text(measured), Text(required), Text(result.sentence))
    console.print(table)
