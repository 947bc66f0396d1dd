"""IterationRecord: the result of one iteration of reinforcement learning; one line of its curve."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class IterationRecord:
    """One iteration.

    Attributes:
        iteration: counted from 1.
        periods: simulated control periods of all environments since the training began.
        reward: mean reward of a control period.
        terms: reward term -> its mean in a control period; they add up to `reward`.
        episodes, successes: episodes that ended in this iteration, and how many of them were successes.
        success: success rate of the last episodes (`ReinforceConfig.window`); None before the first has ended.
        length_s: mean length of the ended episodes; None if none has ended.
        reasons: why episodes ended -> how many.
        figures: losses, learning rate, exploration noise, levels of the curriculum.
    """

    iteration: int
    periods: int
    reward: float
    terms: dict[str, float]
    episodes: int
    successes: int
    success: float | None
    length_s: float | None
    reasons: dict[str, int] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)

    def scalars(self) -> dict[str, float]:
        """Tag -> value, for TensorBoard."""
        values = {"reward/mean": self.reward, "episodes/ended": float(self.episodes)}
        values |= {f"reward/{name}": value for name, value in self.terms.items()}
        values |= {f"episodes/{name.replace(' ', '_')}": float(count) for name, count in self.reasons.items()}
        values |= {name if "/" in name else f"training/{name}": value for name, value in self.figures.items()}
        if self.success is not None:
            values["success/recent"] = self.success
        if self.length_s is not None:
            values["episodes/length_s"] = self.length_s
        return values
