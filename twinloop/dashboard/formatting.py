"""Numbers and shares as readers expect them, for pages and for the terminal."""

import math


def number(value: float) -> str:
    """Three significant digits, without an exponent where that is readable: 12,346 · 0.0523 · 1.2e-06."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3g}"
    text = f"{value:.3g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def percent(value: float) -> str:
    """A share in percent. A share that is almost 0 or almost 1 is not rounded to 0 % or 100 %."""
    if not math.isfinite(value):
        return "–"
    if 0 < value < 0.0005:
        return "< 0.1 %"
    if 0.9995 < value < 1:
        return "> 99.9 %"
    return f"{100 * value:.1f}".removesuffix(".0") + " %"


def interval(low: float, high: float) -> str:
    """`0.2 to 0.4`"""
    return f"{number(low)} to {number(high)}"


def file_size(size_bytes: float) -> str:
    """`1.2 MB`, in powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{number(size_bytes)} {unit}"
        size_bytes /= 1000
    return f"{number(size_bytes)} TB"
