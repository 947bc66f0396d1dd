"""Collecting: demonstrations between rounds, as the plan requests them and within the budget. One runlog per round."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from twinloop.deploy.collect import CollectConfig, collect
from twinloop.deploy.demonstration_budget import attempts_in, demonstrations_in, demonstrations_wanted
from twinloop.deploy.plan_file import CollectionRequest, read_plan
from twinloop.deploy.questions import People
from twinloop.deploy.robots import Workplace
from twinloop.diagnose.plan import Experience, make_plan
from twinloop.diagnose.report import GapReport
from twinloop.errors import UsageError
from twinloop.pipeline.loop.record import write_json
from twinloop.pipeline.loop.settings import LoopConfig

BEFORE = -1
"""Number of the collection before the first round."""
FIRST_SCENE = 1 << 22
"""First scene of demonstrations, so that none is a scene of a trial. Scenes are counted over all rounds, so that
strategies without conditions get the same demonstrations for the same budget."""


class Collecting:
    """The runlogs of demonstrations of the loop in `out`.

    On a simulated robot a scripted demonstrator carries the requests out. On hardware people do, and the loop waits.
    """

    def __init__(self, out: Path, settings: LoopConfig, people: People, place: Workplace | None = None):
        self._folder, self._settings, self._people = out / "collected", settings, people
        self._place = place or Workplace(settings.robot)

    def log(self, number: int) -> Path:
        """The runlog of demonstrations collected after round `number`."""
        return self._folder / ("before" if number == BEFORE else f"after-{number}")

    def known(self, number: int) -> tuple[Path, ...]:
        """Runlogs of earlier rounds. What this round collects is used by the next one, also after a restart."""
        logs = [self.log(earlier) for earlier in range(BEFORE, number)]
        return tuple(log for log in logs if demonstrations_in(log))

    def seen(self, number: int) -> tuple[Path, ...]:
        """As `known`, if who demonstrates sees the scene, and not its tracked places; else nothing."""
        return self.known(number) if self._settings.demonstrator_sees == "scene" or not self._settings.simulated else ()

    def part(self, number: int) -> int:
        """Demonstrations that round `number` may collect. Strategy `real` has one more part, for its first policy."""
        schedule = self._settings.schedule
        if schedule:
            return demonstrations_wanted(schedule, self._settings.collections(number), spent=self._spent(number))
        return max(0, self._settings.budget - self._spent(number)) // (self._settings.rounds - number)

    def _spent(self, number: int) -> int:
        return sum(attempts_in(self.log(earlier)) for earlier in range(BEFORE, number))

    def requests(
        self, number: int, report: GapReport | None, folder: Path, *,
        experience: Experience = Experience(),  # noqa: B008
    ) -> tuple[CollectionRequest, ...]:  # fmt: skip
        """The plan's requests, then the rest of the round's part without conditions."""
        file, robot = folder / "requests.json", self._settings.robot
        if not file.exists():
            budget, requests = self.part(number), []
            if report is not None:
                plan = make_plan(report, robot=robot, budget=budget, experience=experience)
                write_json(folder / "plan.json", plan.to_json())
                requests = plan.requests()
            rest = budget - sum(request["episodes"] for request in requests)
            write_json(file, requests + ([{"robot": robot, "episodes": rest, "conditions": {}}] if rest else []))
        return read_plan(file) if json.loads(file.read_text(encoding="utf-8")) else ()

    def run(self, number: int, requests: tuple[CollectionRequest, ...], *, on_activity: Callable[[str], None]) -> int:
        """Collect, and return the number of accepted demonstrations in the runlog."""
        settings, log = self._settings, self.log(number)
        if settings.gated and not settings.simulated:
            return self._by_people(number, requests, log)
        config = CollectConfig(sees=settings.demonstrator_sees)
        config = replace(config, imperfection=None) if settings.demonstrator == "script" else config
        for request in requests:
            conditions = ", ".join(f"{name} {value}" for name, value in request.conditions.items())
            on_activity(f"collecting {request.episodes} demonstrations{f' with {conditions}' if conditions else ''}")
            done = collect(
                self._place.robot, log, episodes=request.episodes,
                first=FIRST_SCENE + self._spent(number) + request.first,
                config=replace(config, conditions=request.conditions),
                workers=self._place.workers(settings.workers), task=self._place.task,
            )  # fmt: skip
            if done.stopped:
                raise UsageError(f"{request.robot}: {done.stopped}; run the same command again to continue")
        return demonstrations_in(log)

    def _by_people(self, number: int, requests: tuple[CollectionRequest, ...], log: Path) -> int:
        """Wait until people have collected the requested demonstrations."""
        wanted, done = sum(request.episodes for request in requests), demonstrations_in(log)
        if done < wanted:
            folder = self._folder.parent / ("round-0/before" if number == BEFORE else f"round-{number}")
            command = f"twinloop collect --plan {folder / 'requests.json'} --out {log} --task {self._place.task.name}"
            self._people.wait(
                f"collect-{number}", f"{wanted - done} of {wanted} demonstrations are missing in {log}", (command,)
            )
        return done
