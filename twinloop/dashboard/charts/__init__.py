"""Values -> Chart. Each function builds one Vega-Lite specification; data are aggregated before they come here."""

from .counts import Bar, Layer, bars, heat, histogram
from .lines import Band, Line, lines, path_plot, phase_bands, signals
from .rates import RatePair, detector, rate_bars, rates_by_value, sequential_path, success_scatter

__all__ = [
    "Band",
    "Bar",
    "Layer",
    "Line",
    "RatePair",
    "bars",
    "detector",
    "heat",
    "histogram",
    "lines",
    "path_plot",
    "phase_bands",
    "rate_bars",
    "rates_by_value",
    "sequential_path",
    "signals",
    "success_scatter",
]
