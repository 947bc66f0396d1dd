"""Write the generated pages of the docs: `make docs`. A test compares them with the committed ones."""

from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from twinloop.calibrate.bench_file import BenchFile
from twinloop.cli.schema import SCHEMAS
from twinloop.dataset.ingest.mapping_file import MappingFile
from twinloop.deploy.rehearsal.cell_file import CellFile

DOCS = Path(__file__).parent


def module(name: str) -> ModuleType:
    """Import a module of this folder, which is not a package."""
    spec = spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


reference, benchmarks = module("reference_pages"), module("benchmark_pages")

PAGES = {
    "api.md": lambda: module("api_page").api_page(),
    "parameters.md": reference.parameters_page,
    **{f"schema/{name}.json": partial(reference.schema_page, schema) for name, schema in SCHEMAS.items()},
    "config.md": reference.config_page,
    "dataset.md": reference.dataset_page,
    "robots.md": lambda: reference.robots_page(benchmarks.public_robots(module("public_robots"))),
    "hardware.md": reference.hardware_page,
    "extending.md": reference.extending_page,
    "ingesting.md": lambda: reference.keys_page("ingesting", MappingFile),
    "calibrating.md": lambda: reference.keys_page("calibrating", BenchFile),
    "gate.md": reference.gate_page,
    "benchmarks.md": lambda: benchmarks.benchmarks_page(module("measurements"), module("timesteps")),
    "rehearsal.md": lambda: benchmarks.rehearsal_page(
        reference.truths_table(), reference.keys_table(CellFile), reference.effects_table()
    ),
    "gpu.md": benchmarks.gpu_page,
    "reinforcement.md": lambda: benchmarks.reinforcement_page(reference.terms_table()),
    "learning.md": lambda: benchmarks.learning_page(module("learning_tables")),
    "worth.md": lambda: benchmarks.worth_page(module("worth_tables")),
    "tasks.md": lambda: benchmarks.tasks_page(module("task_tables")),
    "statistics.md": lambda: benchmarks.statistics_page(module("figures")),
    "scale.md": lambda: benchmarks.scale_page(module("machines")),
    "diagnosing.md": lambda: benchmarks.diagnosing_page(module("diagnoses"), module("reliability")),
    "loop_study.md": lambda: benchmarks.loop_study_page(module("loops")),
    "pictures/reliability.svg": lambda: benchmarks.reliability_plot(module("reliability")),
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
