"""Statistics of counts: confidence intervals, tests and bounds with controlled error rates."""
