"""Figures in README and docs equal the results of the benchmarks."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def test_the_figures_of_the_readme_equal_the_results():
    throughput, diagnosis = (
        json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())
        for name in ("throughput", "diagnosis")
    )
    tally = diagnosis["tally"]
    first, alarms, unmodelled, empty, rows = (
        tally[name]
        for name in (
            "open gap first, if it costs more than five points",
            "false alarms (a shut gap above 0.5)",
            "unmodelled named, if only an effect costs more than ten points",
            "unmodelled named in empty cells",
            "rows within their 90 % interval",
        )
    )
    assert alarms["hits"] == empty["hits"] == 0
    text = " ".join(README.split())
    for message in (
        f"{throughput['ours']:.0f} curated trajectories a second on {throughput['cores']} CPU cores",
        f"{throughput['ratio']:.2f} of what the physics engine alone does",
        f"{throughput['times_published']:.1f} times the published rate",
        f"about {WORDS[round(throughput['steps']['10']['times_genesis'])]} times as fast as Genesis",
        f"in {len(diagnosis['rows'])} rehearsal cells",
        f"named first in {first['hits']} of {first['cases']}",
        f"No shut gap was blamed ({alarms['cases']} pairs",
        f"named in {unmodelled['hits']} of {unmodelled['cases']} cells, and in none of {empty['cases']} empty ones",
        f"{rows['hits']} of {rows['cases']} estimated values were within their 90 % intervals",
    ):
        assert message in text


def test_the_figures_of_pybullet_in_the_readme_equal_the_results():
    tally = json.loads((ROOT / "benchmarks" / "results" / "bullet.json").read_text())["tally"]
    first, second, alarms, unmodelled, empty = (
        tally[name]
        for name in (
            "open gap first, if it costs more than five points",
            "open gap among the first two",
            "false alarms (a shut gap above 0.5)",
            "unmodelled named, if only an effect costs more than ten points",
            "unmodelled named in empty cells",
        )
    )
    assert second["hits"] == second["cases"] == first["cases"]
    assert empty["hits"] == 0
    text = " ".join(README.split())
    for message in (
        f"first in {first['hits']} of {first['cases']} costly cells and among the first two in all",
        f"{alarms['hits']} of {alarms['cases']} pairs were false alarms",
        f"effects were named in {unmodelled['hits']} of {unmodelled['cases']} cells.",
    ):
        assert message in text


def test_the_loop_figure_of_the_readme_equals_the_results():
    """For each strategy, in the pairs of a cell and a seed in which it and `diagnose` were run."""
    results = json.loads((ROOT / "benchmarks" / "results" / "loop_12000.json").read_text())
    text = " ".join(README.split())
    assert f"{results['units']} of 12 pairs of a cell and a seed have all strategies" in text
    needed = [ours for ours, _ in results["one_to_one"]["wide"]["needed"].values()]
    reached = sum(demonstrations <= 10 for demonstrations in needed)
    assert f"reached 90 % with 10 real demonstrations in {WORDS[reached]} of {WORDS[len(needed)]} cells" in text
    curves = results["curves"]
    few = {strategy: curves[strategy]["10"] for strategy in ("diagnose", "adr", "blind", "real")}
    ours, *others = (str(rate["successes"]) for rate in few.values())
    assert (
        f"{ours} of {few['diagnose']['trials']} trials, those of `adr` in {others[0]}, of `blind` in {others[1]}"
        in text
    )
    assert f"and of `real` in {others[2]}." in text
    most = max(rate["successes"] for name in curves if name != "diagnose" for rate in curves[name].values())
    assert f"No other strategy had more than {most} of {few['diagnose']['trials']}, with up to 100" in text
    assert f"every other strategy in {WORDS[results['against_best']['half']]} of these pairs" in text
    for other, row in results["one_to_one"].items():
        ours, theirs = (f"{last['successes']} of {last['trials']}" for last in (row["diagnose"], row["other"]))
        assert f"{ours} against {theirs} of `{other}`" in text
        assert f"`{other}` ({row['units']} pairs" in text


def test_the_new_cells_of_the_loop_in_the_readme_are_those_of_the_results():
    files = sorted((ROOT / "benchmarks" / "results" / "loop").glob("*-diagnose-1.json"))
    parts = [json.loads(file.read_text()) for file in files]
    reached = [part for part in parts if sum(part["rounds"][1]["trials"].values()) >= 18]
    second = [success for part in reached for success in part["again"].values()]
    text = " ".join(README.split())
    assert f"with 10 demonstrations in {WORDS[len(reached)]} of six new cells" in text
    assert f"({sum(second)} of {len(second)} in their second test)" in text


def test_the_curation_figures_of_the_readme_equal_the_results():
    curation = json.loads((ROOT / "benchmarks" / "results" / "curation.json").read_text())
    text = " ".join(README.split())
    assert f"rejected {curation['rejected_good']} of {curation['good_episodes']} good episodes" in text
    assert f"AUROC {curation['auroc_unknown']:.2f}" in text


def test_the_curation_table_of_the_docs_equals_the_results():
    curation = json.loads((ROOT / "benchmarks" / "results" / "curation.json").read_text())
    page = (ROOT / "docs" / "curating.md").read_text()
    for cell in curation["by_cell"].values():
        figures = " | ".join(f"{cell[part]:.3f}" for part in ("known", "left_out", "unknown", "new"))
        assert f"| {figures} |" in page
    parts = ("auroc_known", "auroc_left_out", "auroc_held_out_kinds", "auroc_new_kinds")
    assert f"| {' | '.join(f'{curation[part]:.3f}' for part in parts)} |" in page


def test_the_legs_figures_of_the_readme_equal_the_results():
    legs, text = json.loads((ROOT / "benchmarks" / "results" / "rl_legs.json").read_text()), " ".join(README.split())
    for engine in ("twin", "drake"):
        trials = legs[engine]["episodes"]
        assert f"{round(legs[engine]['success'] * trials)} of {trials}" in text
    assert f"after {sum(legs['cpu_minutes'].values()):.0f} CPU minutes of training, a quadruped" in text
    for trial, words in (
        (legs["steps"]["rough"], "On rough ground it was {}"), (legs["humanoid"]["twin"], "{} for a humanoid"),
    ):  # fmt: skip
        assert words.format(f"{round(trial['success'] * trial['episodes'])} of {trial['episodes']}") in text


def test_the_figure_of_practice_in_the_readme_equals_the_results():
    tuning = json.loads((ROOT / "benchmarks" / "results" / "tuning.json").read_text())
    before, after = tuning["cloned"], tuning["tuned"]
    message = (
        f"rose from {before['successes']} to {after['successes']} of {after['trials']} after {tuning['cpu_minutes']}"
    )
    assert message in " ".join(README.split())


def test_the_wheels_figure_of_the_readme_equals_the_results():
    tuned = json.loads((ROOT / "benchmarks" / "results" / "wheels.json").read_text())["tuned"]
    assert tuned["collisions"]["rate"] == 0
    message = f"in {tuned['success']['rate']:.1%} of {tuned['episodes']} unseen rooms with people, without a collision"
    assert message.replace("%", " %") in " ".join(README.split())
