"""The parts of `loop.py`: one strategy in one cell with one seed. See there."""

import itertools
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

from loop_cells import DEMONSTRABLE, FIRST_SCREENED, SCREENED, Cell

from twinloop.deploy.collect import CollectConfig, collect
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.session import deploy
from twinloop.diagnose.hypothesis_set import causes_in
from twinloop.gate.runlog_evidence import load_runlog
from twinloop.learn.card import read_card
from twinloop.pipeline.loop import LoopConfig, Strategy, run_loop
from twinloop.pipeline.loop.steps import SCENES_PER_ROUND, Steps
from twinloop.randomize.distribution import Constant
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.randomization import ordered_rows
from twinloop.twin.tasks import tasks

STRATEGIES: tuple[Strategy, ...] = ("wide", "blind", "real", "adr", "diagnose")
SCHEDULE = (10, 25, 50, 100)
TARGET = 0.9
TRIALS = 20
EPISODES, STEPS, FINETUNE_STEPS = 400, 3000, 3000
POLICY = {"width": 256, "executed": 5}
INPUTS = ("observation.state", "observation.environment_state", "observation.history")
"""Raw readings, also earlier ones: a tracker with millimetres of noise hides where a peg has to go."""


@dataclass(frozen=True)
class Part:
    """A strategy in a cell with a seed. out: folder of everything that is made."""

    cell: Cell
    seed: int
    strategy: Strategy
    out: Path

    @property
    def folder(self) -> Path:
        return self.out / self.cell.name / f"{self.strategy}-{self.seed}"

    @property
    def settings(self) -> LoopConfig:
        rounds = {"wide": 0, "real": len(SCHEDULE) - 1}.get(self.strategy, len(SCHEDULE))
        # A strategy without rounds trains for as many steps as the others in total, on as many simulated episodes: the
        # others have `EPISODES` of the first round and as many of the last.
        steps = STEPS + len(SCHEDULE) * FINETUNE_STEPS if self.strategy == "wide" else STEPS
        episodes = EPISODES * (2 if self.strategy == "wide" else 1)
        return LoopConfig(
            robot=self.cell.robot, strategy=self.strategy, rounds=rounds, target=TARGET, schedule=SCHEDULE,
            trials=TRIALS, episodes=episodes, steps=steps, finetune_steps=FINETUNE_STEPS, settings=POLICY,
            inputs=INPUTS, longer_tuning=False, demonstrator="script", demonstrator_sees="scene", gated=False,
            simulated=True, evaluation_episodes=24, seed=self.seed, workers=1,
        )  # fmt: skip

    @property
    def config(self) -> RunConfig:
        config = config_from_text(self.cell.scene.config(self.strategy), name=self.cell.scene.name, folder=Path())
        return with_every_row(config) if self.strategy == "adr" else config

    def run(self, say: Callable[[str], None]) -> dict[str, Any]:
        """Run or continue the part, and return its result."""
        self._take_shared()
        steps: list[tuple[int, str, float]] = []

        def on_step(number: int, step: str) -> None:
            self._share(finished=(number, step))
            steps.append((number, step, process_time()))
            say(f"{self.cell.name} {self.strategy} {self.seed}, round {number}: {step}")

        done = run_loop(self.config, self.settings, self.folder, on_step=on_step)
        steps.append((len(done.rounds), "end", process_time()))
        self._share()
        rows = []
        for record in done.rounds:
            stage = self.settings.collections(record.number)
            runlog = self.folder / f"round-{record.number}" / "runlog"
            rows.append({
                "budget": (0, *SCHEDULE)[stage], "demonstrations": record.demonstrations, "steps": record.steps,
                "twin": record.twin["rate"], "trials": self._outcomes(runlog),
                "open_gaps": list(record.open_gaps), "requests": list(record.requests),
            })  # fmt: skip
        return {
            "cell": self.cell.name, "robot": self.cell.robot, "scene": self.cell.scene.name, "seed": self.seed,
            "strategy": self.strategy, "rounds": rows, "again": self._again(rows[-1]["budget"], done.rounds[-1].number),
            "steps_cpu_s": [
                [number, step, round(after - at, 1)]
                for (number, step, at), (_, _, after) in itertools.pairwise(steps)
            ],
        }  # fmt: skip

    def first_policy(self) -> Path:
        """The first policy of the strategy, which does not depend on the cell."""
        self._take_shared()
        steps = self._first_steps()
        steps.train(steps.generate(self.config), (), 0)  # both continue, or return at once
        self._share()
        return steps.policy

    def first_success(self) -> str:
        """Success of the first policy in the twin."""
        self.first_policy()
        rate = self._first_steps().evaluate(self.config)
        return f"{rate['successes']} of {rate['trials']}"

    def _first_steps(self) -> Steps:
        return Steps(self.folder, self.settings, 0, lambda _: None)

    def _again(self, budget: int, number: int) -> dict[str, bool] | None:
        """The last policy in the scenes of the largest budget; None if it was made with that budget."""
        if budget == SCHEDULE[-1]:
            return None
        log = self.folder / "again"
        try_policy(self.folder / f"round-{number}" / "policy", self.cell, log, TRIALS, SCENES_PER_ROUND * len(SCHEDULE))
        return self._outcomes(log)

    @staticmethod
    def _outcomes(runlog: Path) -> dict[str, bool]:
        """Scene -> success. An aborted episode is a failure."""
        episodes = load_runlog(runlog).episodes
        return {str(scene): bool(good) for scene, good in zip(episodes.scene, episodes.managed, strict=True)}

    @property
    def _beginning(self) -> str:
        return {"wide": "wide", "real": "", "adr": "adr"}.get(self.strategy, "usual")

    def _shared(self) -> dict[Path, Path]:
        """Shared place -> place in this part's folder, of what several parts have in common."""
        places: dict[Path, Path] = {}
        first, shared = self.folder / "round-0", self.out / "shared"
        if self._beginning:
            policy = shared / f"{self.cell.scene.name}-{self._beginning}-{self.seed}"
            places[policy] = first / "policy"
            places[shared / self.cell.name / f"trials-{self._beginning}-{self.seed}"] = first / "runlog"
        if self.strategy in ("blind", "real", "adr"):
            names = [f"after-{number}" for number in range(len(SCHEDULE))]
            names = ["before", *names[:-1]] if self.strategy == "real" else names
            for number, name in enumerate(names):
                places[shared / self.cell.name / f"demonstrations-{number}"] = self.folder / "collected" / name
        return places

    def _take_shared(self) -> None:
        for name in ("datasets", "banks"):
            (self.out / name).mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            if not (self.folder / name).exists():
                (self.folder / name).symlink_to((self.out / name).resolve())
        for common, own in self._shared().items():
            if common.exists() and not own.exists():
                shutil.copytree(common, own)

    def _share(self, finished: tuple[int, str] | None = None) -> None:
        """Copy what is complete to its shared place: everything, or what is complete before the given step begins."""
        number, step = finished or (len(SCHEDULE) + 1, "")
        for common, own in self._shared().items():
            if own.parent.name == "collected":
                complete = step in ("", "training", "fine-tuning") and self._collected_for(own.name) <= number
            else:
                complete = number > 0 or step.startswith(("collecting", "diagnosing"))
            if complete and own.exists() and not common.exists():
                shutil.copytree(own, common.with_name(f"{common.name}.new"))
                common.with_name(f"{common.name}.new").rename(common)

    @staticmethod
    def _collected_for(log: str) -> int:
        """The round whose policy is the first to learn from a log of demonstrations."""
        return 0 if log == "before" else int(log.removeprefix("after-")) + 1


def with_every_row(config: RunConfig) -> RunConfig:
    """The config with all numeric rows that a diagnosis may blame, at nominal values, so that they can be widened."""
    rows = [BY_NAME[name] for name in dict.fromkeys(cause.row for cause in causes_in(config))]
    numeric = [row for row in rows if row.realistic and row.chance is None and not row.pool and not row.words]
    ranges = {row.name: Constant(row.nominal) for row in numeric} | dict(config.randomization)
    return replace(config, randomization=ordered_rows(ranges))


def try_policy(policy: Path, cell: Cell, log: Path, episodes: int, first: int) -> None:
    done = deploy(
        {"candidate": policy}, cell.robot, log, episodes=episodes, first=first, config=DeployConfig(seed=1), workers=1,
        task=cell.scene.task,
    )  # fmt: skip
    if done.stopped:
        raise RuntimeError(f"{log}: {done.stopped}")


def screen(cell: Cell, out: Path) -> dict[str, Any]:
    """Success of the demonstrator and of `wide` in scenes that the study does not use."""
    folder = out / cell.name / "screen"
    demonstrations = collect(
        cell.robot, folder / "demonstrator", episodes=SCREENED, first=FIRST_SCREENED,
        config=CollectConfig(imperfection=None, sees="scene"), task=tasks()[cell.scene.task],
    )  # fmt: skip
    result = {"cell": cell.name, "demonstrator": demonstrations.succeeded / SCREENED, "wide": 1.0}
    if result["demonstrator"] < DEMONSTRABLE:
        return result  # `wide` need not be tried
    policy = Part(cell, 1, "wide", out).first_policy()
    log = folder / "wide"
    try_policy(policy, cell, log, SCREENED, FIRST_SCREENED)
    managed = load_runlog(log).episodes.of(read_card(policy).digest).managed
    return result | {"wide": float(managed.mean())}
