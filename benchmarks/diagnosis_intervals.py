"""Simulation-based calibration: are the rows of a diagnosis within their 90 % intervals, if the twin is the robot?

    python benchmarks/diagnosis_intervals.py [--scene 0] [--part 1:4] [--out out/diagnosis]

Each cause of a bank is the truth once, at the middle one of its simulated sizes, which the emulator then does not know.
The cell's traits get errors as large as the measured spread between engines. Needs the bank that
`benchmarks/diagnosis.py` makes. About 4 CPU seconds per cause.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from diagnosis import RESULTS, SCENES, share

from twinloop.diagnose.bank import Bank, CounterfactualCell
from twinloop.diagnose.diagnosis import diagnose_traits
from twinloop.diagnose.emulator import emulator_of
from twinloop.diagnose.engine_spread import engine_spread
from twinloop.diagnose.findings import PosteriorSamples, finding_of
from twinloop.diagnose.make_bank import make_bank
from twinloop.diagnose.summary import ENTRIES, summarise
from twinloop.diagnose.traits import TRAITS
from twinloop.pipeline.diagnose import DiagnoseConfig
from twinloop.run.config import load_config

CLEAR = 0.5  # probability from which a row is listed


def stored_bank(scene: int, out: Path) -> Bank:
    """The finished bank of a scene."""
    config = load_config(out / "configs" / f"{SCENES[scene].name}.yaml")
    for folder in sorted((out / "banks").glob("bank-*")):
        try:
            return make_bank(
                config, lambda _: (), folder=folder, levels=DiagnoseConfig.cells, seed=DiagnoseConfig.seed
            )  # fmt: skip
        except KeyError:
            continue  # the bank of another scene, or not finished
    raise SystemExit(f"{out}/banks: no finished bank of {SCENES[scene].name}; run benchmarks/diagnosis.py first")


def as_other_engine(traits: np.ndarray, between: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The traits with a constant error of each, as large as the spread between engines."""
    spread = engine_spread()
    errors = rng.standard_t(spread.freedom, len(ENTRIES)) * np.sqrt(spread.variance(between))
    changed = traits.copy()
    for error, entry in zip(errors, ENTRIES, strict=True):
        about = TRAITS[entry.trait]
        if entry.spread or about.unit == "1" or about.outcome:
            continue
        values = about.scaled(traits[:, entry.trait]) + error
        changed[:, entry.trait] = np.exp(values) - about.resolution if about.log else values
    return changed


def calibrated(bank: Bank, place: int, seed: int) -> dict:
    """Diagnose the cell in which only one cause holds, at the middle simulated size."""
    cause = bank.causes[place]
    size, truth = bank.alone(cause)[1]
    known = replace(bank, cells=tuple(cell for cell in bank.cells if cell is not truth))
    emulator = emulator_of(known)
    traits = as_other_engine(truth.traits, emulator.reference.between, np.random.default_rng([seed, place]))
    diagnosis = diagnose_traits(traits, emulator, seed=seed)
    deviations = diagnosis.observed.difference / np.sqrt(diagnosis.observed.variance)
    posterior = PosteriorSamples(
        emulator, diagnosis.explanations, diagnosis.costs, diagnosis.robot, deviations, trained={}
    )  # fmt: skip
    finding = finding_of(cause.gap, posterior)
    row = next((row for row in finding.rows if (row.row, row.element) == (cause.row, cause.element)), None)
    lost = emulator.usual_success - CounterfactualCell(truth.hypothesis, truth.traits).success
    changed = np.abs(summarise(truth.traits).values - emulator.reference.values)
    return {
        "cause": cause.name, "size": size, "true": cause.value(size), "lost": round(float(lost), 3),
        "clear": float(np.nanmax(changed / np.sqrt(diagnosis.observed.variance))),
        "differs": round(finding.differs, 3),
        "interval": None if row is None else list(row.interval), "value": None if row is None else row.value,
        "within": None if row is None else bool(row.interval[0] <= cause.value(size) <= row.interval[1]),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", type=int, default=0)
    parser.add_argument("--part", default="1:1", metavar="K:N", help="part K of N of the causes")
    parser.add_argument("--out", type=Path, default=Path("out/diagnosis"))
    args = parser.parse_args()
    part, parts = map(int, args.part.split(":"))
    bank = stored_bank(args.scene, args.out)
    rows = [calibrated(bank, place, 1) for place in range(part - 1, len(bank.causes), parts)]
    for row in rows:
        print(json.dumps(row), flush=True)
    within = share([row["within"] for row in rows if row["within"] is not None])
    file = RESULTS.parent / "diagnosis_intervals" / f"{SCENES[args.scene].name}-{part}-of-{parts}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"within": within, "rows": rows}, indent=1) + "\n")
    print(json.dumps(within))


if __name__ == "__main__":
    main()
