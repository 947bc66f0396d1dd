"""Demonstrations between rounds: errand by errand as the plan says, within the budget, a log for each round."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from twinloop.curate.verdict import ACCEPTED
from twinloop.dataset import Dataset
from twinloop.dataset.layout import HEADER
from twinloop.deploy.collect import CollectConfig, collect
from twinloop.deploy.plan_file import Errand, read_plan
from twinloop.diagnose.plan import planned
from twinloop.diagnose.report import GapReport
from twinloop.errors import UsageError
from twinloop.pipeline.loop.record import write_json
from twinloop.pipeline.loop.settings import LoopConfig

BEFORE = -1
"""The round before the first, as far as demonstrations go."""
FIRST_SCENE = 1 << 22
"""Of demonstrations: none of theirs is a trial's. They are counted on from round to round, so that strategies which
collect as scenes come have the same demonstrations for the same budget, however many rounds they take."""


class Collecting:
    """The logs of a loop in `out`: what was collected after each round."""

    def __init__(self, out: Path, settings: LoopConfig):
        self._folder, self._settings = out / "collected", settings

    def log(self, number: int) -> Path:
        """Of the demonstrations that were asked for after round `number`."""
        return self._folder / ("before" if number == BEFORE else f"after-{number}")

    def known(self, number: int) -> tuple[Path, ...]:
        """Logs of earlier rounds alone: what this round collects is the next one's, however often this one is begun."""
        logs = [self.log(each) for each in range(BEFORE, number)]
        return tuple(log for log in logs if demonstrations_in(log))

    def part(self, number: int) -> int:
        """Of the budget, that round `number` may spend. With real data alone there is a part more, for the first
        policy."""
        return max(0, self._settings.budget - self._spent(number)) // (self._settings.rounds - number)

    def _spent(self, number: int) -> int:
        return sum(_attempts(self.log(each)) for each in range(BEFORE, number))

    def errands(self, number: int, report: GapReport | None, folder: Path) -> tuple[Errand, ...]:
        """As the plan says; what it leaves of the round's part, and all of it without a diagnosis, as scenes come."""
        file, robot = folder / "errands.json", self._settings.robot
        if not file.exists():
            many, asked = self.part(number), []
            if report is not None:
                plan = planned(report, robot=robot, budget=many)
                write_json(folder / "plan.json", plan.to_json())
                asked = plan.errands()
            left = many - sum(errand["episodes"] for errand in asked)
            write_json(file, asked + ([{"robot": robot, "episodes": left, "conditions": {}}] if left else []))
        return read_plan(file) if json.loads(file.read_text(encoding="utf-8")) else ()

    def run(self, number: int, errands: tuple[Errand, ...], *, say: Callable[[str], None]) -> int:
        """Good demonstrations that the log has then."""
        settings, log = self._settings, self.log(number)
        usual = CollectConfig()
        script = None if settings.demonstrator == "script" else usual.imperfection
        for errand in errands:
            under = ", ".join(f"{name} {value}" for name, value in errand.conditions.items())
            say(f"collecting {errand.episodes} demonstrations{f' with {under}' if under else ''}")
            done = collect(
                errand.robot, log, episodes=errand.episodes,
                first=FIRST_SCENE + self._spent(number) + errand.first,
                config=replace(usual, conditions=errand.conditions, imperfection=script), workers=settings.workers,
            )  # fmt: skip
            if done.stopped:
                raise UsageError(f"{errand.robot}: {done.stopped}; the same command goes on")
        return demonstrations_in(log)


def demonstrations_in(log: Path) -> int:
    """Good ones, if there is a log."""
    if not (log / HEADER).exists():
        return 0
    return Dataset.open(log).attempts()["verdict"].to_pylist().count(ACCEPTED)


def _attempts(log: Path) -> int:
    return Dataset.open(log).attempts().num_rows if (log / HEADER).exists() else 0
