"""SQL over a dataset, with DuckDB, and over nothing else.

    attempts   every attempt, accepted or not; `episode_index` is null where no rows are stored
    episodes   the attempts that have rows
    frames     a row a frame, with its `episode_index`

The statement may come from anyone: DuckDB gets the tables as Arrow data, and no access to files, to the
network, to extensions or to this process's variables. Only a single SELECT is run.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from twinloop.errors import UsageError

from .layout import SHARDS
from .parquet import FRAME_KEYS, frame_field, to_numpy
from .reader import Dataset
from .shard import FRAMES

if TYPE_CHECKING:  # imported where they are used: every command imports this module, few of them run SQL
    import duckdb
    from pyarrow import dataset as arrow_dataset

_LOCKED_DOWN: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


def query(path: Path | str, sql: str) -> pa.Table:
    import duckdb

    dataset = Dataset.open(path)
    with duckdb.connect(":memory:", config=_LOCKED_DOWN) as connection:
        connection.register("attempts", _attempts(dataset))
        connection.register("frames_by_attempt", _frames(dataset))
        connection.execute("CREATE VIEW episodes AS SELECT * FROM attempts WHERE episode_index IS NOT NULL")
        connection.execute(
            "CREATE VIEW frames AS SELECT episode_index, frames_by_attempt.* "
            "FROM frames_by_attempt JOIN attempts USING (attempt)"
        )
        connection.execute("SET lock_configuration = true")
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError(f"query: one SELECT was expected, not: {sql}")
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise UsageError(f"query: {error}\n{_available(connection)}") from None


def _attempts(dataset: Dataset) -> pa.Table:
    table = dataset.attempts()
    if not dataset.entries:
        fields = [("attempt", pa.int64()), ("length", pa.int64()), ("verdict", pa.string())]
        table = pa.schema(fields).empty_table()
    stored = to_numpy(table["length"]) > 0
    index = pa.array(np.cumsum(stored) - 1, pa.int64(), mask=~stored)
    return table.add_column(0, "episode_index", index)


def _frames(dataset: Dataset) -> "arrow_dataset.Dataset | pa.Table":
    from pyarrow import dataset as arrow_dataset

    schema = pa.schema([*FRAME_KEYS, *(frame_field(feature) for feature in dataset.header.columns)])
    files = [str(dataset.path / SHARDS / entry.name / FRAMES) for entry in dataset.entries if entry.frames]
    return arrow_dataset.dataset(files, schema=schema, format="parquet") if files else schema.empty_table()


def _available(connection: "duckdb.DuckDBPyConnection") -> str:
    lines = ['Available columns (quote names with dots or slashes: "draw/mass_kg"):']
    for table in ("attempts", "episodes", "frames"):
        lines.append(f"  {table}: {', '.join(connection.table(table).columns)}")
    return "\n".join(lines)
