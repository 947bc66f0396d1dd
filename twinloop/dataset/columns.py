"""The declaration of all columns that a row of `attempts` may have.

Every writer (generate, ingest, deploy, collect, merge) passes its columns through `episode_arrays`, which refuses
undeclared names and casts the values to the declared types. docs/dataset.md is generated from this table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from twinloop.errors import DatasetError, nearest

Values = np.ndarray | Sequence | pa.Array
Source = Literal["all", "sim", "real", "sim, real", "merged"]


@dataclass(frozen=True)
class EpisodeColumn:
    """One column, or one family of columns.

    Attributes:
        name: column name. A name that ends in `/` is the prefix of a family.
        type: Arrow type, or None if the members of a family differ.
        source: datasets that have the column. `all` columns are required.
        help: description for the docs.
    """

    name: str
    type: pa.DataType | None
    source: Source
    help: str


INT, FLOAT, TEXT, BOOL = pa.int64(), pa.float64(), pa.string(), pa.bool_()

EPISODE_COLUMNS = (
    EpisodeColumn("attempt", INT, "all", "index of the episode in its run"),
    EpisodeColumn("task", TEXT, "all", "instruction"),
    EpisodeColumn("task_name", TEXT, "sim", "name of the task"),
    EpisodeColumn("slots", TEXT, "sim", "words of the instruction's slots, as JSON"),
    EpisodeColumn("length", INT, "all", "stored frames; 0 for an episode without rows"),
    EpisodeColumn("verdict", TEXT, "all", "`accepted`, or the name of the first check that failed"),
    EpisodeColumn("success", BOOL, "all", "whether the task was solved"),
    EpisodeColumn("seed", INT, "sim", "run seed"),
    EpisodeColumn("config_digest", TEXT, "sim", "digest of everything that decides an episode"),
    EpisodeColumn("patch", TEXT, "sim", "digest of the patch that the twin was fitted with; only with a patch"),
    EpisodeColumn("retries", INT, "sim", "how often the expert repeated a lost grasp"),
    EpisodeColumn("draw/", None, "sim", "a drawn value, in the unit of its row of the parameter table"),
    EpisodeColumn("check/", FLOAT, "sim", "the quantity that a plausibility check compared with its limit"),
    EpisodeColumn("camera/", None, "sim", "intrinsics (fx, fy, cx, cy, distortion) and pose of a camera"),
    EpisodeColumn("duration_s", FLOAT, "sim, real", "simulated or recorded time"),
    EpisodeColumn("last_phase", TEXT, "sim, real", "the phase in which the episode ended"),
    EpisodeColumn("failure", TEXT, "sim, real", "name of the failure; empty for a success"),
    EpisodeColumn("curator_reason", TEXT, "sim", "what a curator found worst in the episode; only with a curator"),
    EpisodeColumn("version/", TEXT, "sim, real", "version of a package that decides the bytes"),
    EpisodeColumn("robot_id", TEXT, "real", "which robot, or the name of the ingested recordings"),
    EpisodeColumn("robot/", None, "real", "serial number, firmware and fingerprint of the robot; is it simulated"),
    EpisodeColumn("gate/", TEXT, "real", "stage of the policy (or `ungated`), decision and registry that allowed it"),
    EpisodeColumn("scene", INT, "real", "number of the scene that was laid out"),
    EpisodeColumn("outcome", TEXT, "real", "`success`, `failure`, `unknown` or `aborted`"),
    EpisodeColumn("outcome_by", TEXT, "real", "who decided the outcome"),
    EpisodeColumn("outcome_detail", TEXT, "real", "the reason in words"),
    EpisodeColumn("checkpoint", TEXT, "real", "digest of the policy that acted"),
    EpisodeColumn("policy", TEXT, "real", "name of the policy that acted"),
    EpisodeColumn("arm", TEXT, "real", "arm of a comparison: `candidate` or `control`"),
    EpisodeColumn("interventions", INT, "real", "how often a human stepped in"),
    EpisodeColumn("deadlines_missed", INT, "real", "control periods that began late"),
    EpisodeColumn("safety/", INT, "real", "control periods in which the safety filter changed the command, by reason"),
    EpisodeColumn("condition/", None, "real", "a condition of the scene that the lab wrote down"),
    EpisodeColumn("setting/", None, "real", "a setting of the control loop, such as its speed"),
    EpisodeColumn("demonstrator", TEXT, "real", "who demonstrated: `scripted` or `teleoperation`"),
    EpisodeColumn("try", INT, "real", "number of the try at this demonstration"),
    EpisodeColumn("recorded_at", TEXT, "real", "time of the recording, ISO 8601, UTC"),
    EpisodeColumn("recorded_rows", INT, "real", "rows in the source file"),
    EpisodeColumn("clock_began_s", FLOAT, "real", "first time stamp of the source"),
    EpisodeColumn("source_label", TEXT, "real", "file and episode of the source"),
    EpisodeColumn("source_digest", TEXT, "real", "digest of what was read from the source"),
    EpisodeColumn("quality", TEXT, "real", "findings of the quality checks, as JSON"),
    EpisodeColumn("quality_errors", INT, "real", "findings that reject the episode"),
    EpisodeColumn("quality_notes", INT, "real", "findings that do not"),
    EpisodeColumn("participant", TEXT, "real", "pseudonym of the person in the recording"),
    EpisodeColumn("consent/", TEXT, "real", "what the participant agreed to"),
    EpisodeColumn("origin", TEXT, "merged", "dataset that the episode comes from"),
    EpisodeColumn("origin_attempt", INT, "merged", "its `attempt` there"),
    EpisodeColumn("source", TEXT, "merged", "`sim` or `real`"),
    EpisodeColumn("engine", TEXT, "merged", "physics engine of its run"),
    EpisodeColumn("look", TEXT, "merged", "name of the restyled film that the images of one camera come from"),
    EpisodeColumn("look_digest", TEXT, "merged", "SHA-256 of that film"),
    EpisodeColumn("look_camera", TEXT, "merged", "the camera whose images it replaces"),
)

BY_NAME = {column.name: column for column in EPISODE_COLUMNS}
REQUIRED = {column.name: column.type for column in EPISODE_COLUMNS if column.source == "all"}
STATS_PREFIX = "stats/"
"""Prefix of the statistics that the shard writer adds."""


def column_of(name: str) -> EpisodeColumn | None:
    """Return the declaration of a column by its name or the prefix of its family, or None."""
    prefix, slash, _ = name.partition("/")
    return BY_NAME.get(name) or (BY_NAME.get(prefix + slash) if slash else None)


def episode_arrays(columns: Mapping[str, Values], *, where: str) -> dict[str, pa.Array]:
    """Return `columns` as Arrow arrays of the declared types.

    Raises:
        DatasetError: a required column is missing, a column is not declared, or values do not fit its type.
    """
    missing = sorted(REQUIRED.keys() - columns.keys())
    if missing:
        raise DatasetError(f"{where}: columns {', '.join(missing)} are missing")
    arrays = {}
    for name, values in columns.items():
        if name.startswith(STATS_PREFIX):
            raise DatasetError(f"{where}: column {name!r}: names in {STATS_PREFIX} are taken by the shard's statistics")
        column = column_of(name)
        if column is None:
            raise DatasetError(
                f"{where}: column {name!r} is not declared in dataset/columns.py; {nearest(name, BY_NAME)}"
            )
        # Arrow accepts every NumPy dtype except strings and objects.
        plain = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "USO" else values
        try:
            arrays[name] = _cast(plain, column.type)
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise DatasetError(f"{where}: column {name!r}: {error}") from None
    return arrays


def _cast(values: Values, kind: pa.DataType | None) -> pa.Array:
    if isinstance(values, (np.ndarray, Sequence)):
        return pa.array(values, kind)
    return values if kind is None else values.cast(kind)
