"""The study of `benchmarks/loop.py`: its cells follow the written rule, and its tally counts pairs by scene."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
SCENES = [str(scene) for scene in range(20)]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch):
    """Imports a module of the benchmarks."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def module(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return __import__(name)

    return module


def part(strategy: str, seed: int, successes: dict[int, int], *, again: int | None = None) -> dict:
    def trials(count: int) -> dict[str, bool]:
        return {scene: number < count for number, scene in enumerate(SCENES)}

    rounds = [{"budget": budget, "trials": trials(count)} for budget, count in successes.items()]
    second = None if again is None else trials(again)
    return {"cell": "a", "strategy": strategy, "seed": seed, "rounds": rounds, "again": second}


def written(folder: Path, seed: int, parts: dict[str, dict]) -> None:
    for strategy, content in parts.items():
        (folder / f"a-{strategy}-{seed}.json").write_text(json.dumps(content))


def test_the_tally_counts_complete_units_and_pairs_by_scene(study, tmp_path: Path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for seed in (1, 2):
        written(folder, seed, {
            "diagnose": part("diagnose", seed, {0: 2, 10: 18}, again=19),
            "adr": part("adr", seed, {0: 2, 10: 8, 25: 12, 50: 16, 100: 18}),
            "blind": part("blind", seed, {0: 2, 10: 8, 25: 18}, again=18),
            "real": part("real", seed, {10: 0, 25: 2, 50: 8, 100: 12}),
            "wide": part("wide", seed, {0: 4}, again=5),
        })  # fmt: skip
    # Not complete, so it only counts against `blind`.
    written(folder, 3, {
        "diagnose": part("diagnose", 3, {0: 20}, again=20), "blind": part("blind", 3, {0: 20}, again=20),
    })  # fmt: skip
    study("loop_tally").tally(folder, tmp_path / "loop.json", tmp_path)
    result = json.loads((tmp_path / "loop.json").read_text())
    assert result["units"] == 2
    assert result["against_best"]["units"]["a, seed 1"] == {
        "diagnose": 10.0, "adr": 100.0, "blind": 25.0, "real": 200.0, "wide": 200.0,
    }  # fmt: skip
    assert (result["against_best"]["half"], result["against_best"]["fewer"]) == (2, 2)
    assert result["curves"]["diagnose"]["50"] == result["curves"]["diagnose"]["100"]  # its second test
    assert result["curves"]["diagnose"]["100"]["successes"] == 38
    assert result["needed"]["diagnose"]["needed"] == 10
    # Both seeds have the same scenes, so there are 20 pairs, not 40: `diagnose` is better in 10 of them.
    pairs = result["paired"]["adr"]["10"]
    assert (pairs["better"], pairs["worse"]) == (10, 0)
    assert pairs["p"] == pytest.approx(2 * 0.5**10)
    against = {other: result["one_to_one"][other] for other in ("adr", "blind")}
    assert [row["units"] for row in against.values()] == [2, 3]
    # A tie is neither fewer nor half.
    assert [(row["half"], row["fewer"], row["more"]) for row in against.values()] == [(2, 2, 0), (2, 2, 0)]
    assert against["blind"]["other"]["successes"] == 18 + 18 + 20
    assert "<svg" in (tmp_path / "loop-study.svg").read_text()


def test_strategies_are_compared_one_to_one_before_a_unit_is_complete(study, tmp_path: Path):
    folder = tmp_path / "parts"
    folder.mkdir()
    written(folder, 1, {
        "diagnose": part("diagnose", 1, {0: 2, 10: 19}, again=17), "wide": part("wide", 1, {0: 18}, again=16)
    })  # fmt: skip
    study("loop_tally").tally(folder, tmp_path / "loop.json", tmp_path)
    result = json.loads((tmp_path / "loop.json").read_text())
    assert result["units"] == 0
    assert set(result["one_to_one"]) == {"wide"}
    row = result["one_to_one"]["wide"]
    assert row["needed"] == {"a, seed 1": [10.0, 0.0]}  # `wide` reached the target without demonstrations
    assert (row["fewer"], row["more"]) == (0, 1)
    assert (row["diagnose"]["successes"], row["other"]["successes"]) == (17, 16)
    assert row["paired"]["100"] == {"better": 1, "worse": 0, "p": 1.0}


@pytest.mark.parametrize(
    ("rates", "demonstrations"),
    [({0: 0.95}, 0), ({0: 0.1, 10: 0.5, 25: 1.0}, 22), ({0: 0.1, 100: 0.89}, 200)],
)
def test_demonstrations_for_the_target_are_interpolated(study, rates: dict[int, float], demonstrations: float):
    assert study("loop_tally").needed(rates) == pytest.approx(demonstrations)


def test_candidates_follow_the_rule(study):
    cells = study("loop_cells")
    candidates = [cells.candidate(seed) for seed in cells.FIGURE_SEEDS[:12]]
    assert candidates == [cells.candidate(seed) for seed in cells.FIGURE_SEEDS[:12]]
    assert {cell.engine for cell in candidates} == {"drake", "physx"}
    assert len({cell.scene.task for cell in candidates}) == 3
    assert len({cell.scene.robot for cell in candidates}) == 2
    assert all(2 <= len(cell.gaps) <= 3 and min(cell.gaps.values()) >= 0.5 for cell in candidates)
    assert all(cell.gaps["sensing"] >= 0.7 for cell in candidates)
    assert set(cells.WORK_SEEDS).isdisjoint(cells.FIGURE_SEEDS)
    assert (cells.passes(0.75, 0.6), cells.passes(0.7, 0.6), cells.passes(1.0, 0.95)) == (True, False, False)
