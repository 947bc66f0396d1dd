"""SQL over one dataset, with DuckDB.

    attempts   every attempt, accepted or not; `episode_index` is null where no rows are stored
    episodes   the attempts that have rows
    frames     one row per frame, with its `episode_index`

The statement is not trusted. DuckDB gets the tables as Arrow data and has no access to files, the network, extensions
or variables of this process. Only a single SELECT is run, for a limited time.
"""

import re
from difflib import get_close_matches
from pathlib import Path
from threading import Timer
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

TABLES = ("attempts", "episodes", "frames")
BATCH_ROWS = 10_000
_LOCKED_DOWN: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


QUERY_TIMEOUT_S = 60.0
MAX_ROWS = 1_000_000


def query(path: Path | str, sql: str, *, timeout_s: float = QUERY_TIMEOUT_S, max_rows: int = MAX_ROWS) -> pa.Table:
    """Run one SELECT over a dataset.

    Args:
        path: the dataset folder.
        sql: the statement.
        timeout_s: stop the query after this time.
        max_rows: refuse a result with more rows.

    Raises:
        UsageError: the statement is not one valid SELECT, takes too long or returns too many rows.
    """
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
        timer = Timer(timeout_s, connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError(f"query: one SELECT statement was expected; given: {sql}")
            return _bounded(connection.sql(sql), max_rows)
        except duckdb.InterruptException:
            advice = "add a WHERE or LIMIT clause, or allow more time with --timeout SECONDS"
            raise UsageError(f"query: stopped after {timeout_s:g} s; {advice}") from None
        except duckdb.Error as error:
            raise UsageError(f"query: {_short(error)}{_hint(str(error), connection)}") from None
        finally:
            timer.cancel()


def _bounded(result: "duckdb.DuckDBPyRelation", max_rows: int) -> pa.Table:
    """The result as a table, read in batches so that a huge one does not fill the memory."""
    reader = result.to_arrow_reader(BATCH_ROWS)
    batches, rows = [], 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if rows > max_rows:
            raise UsageError(f"query: the result has more than {max_rows:,} rows; add a LIMIT clause or aggregate")
    return pa.Table.from_batches(batches, schema=reader.schema)


def _short(error: "duckdb.Error") -> str:
    """The message without DuckDB's list of candidates and without the copy of the statement."""
    text = re.split(r"\n|Candidate bindings:|Did you mean", str(error).strip(), maxsplit=1)[0]
    return text.strip().rstrip("!.") + "."


def _hint(error: str, connection: "duckdb.DuckDBPyConnection") -> str:
    """The nearest table or column name, for an error about an unknown name."""
    unknown_table = re.search(r"Table with name (\S+) does not exist", error)
    if unknown_table:
        return f" Tables: {', '.join(TABLES)}."
    unknown = re.search(r'column "([^"]+)"|column named "([^"]+)"', error)
    if not unknown:
        return ""
    name = next(part for part in unknown.groups() if part)
    columns = {column: table for table in reversed(TABLES) for column in connection.table(table).columns}
    near = get_close_matches(name, columns, n=1, cutoff=0.5)
    listing = "SELECT * FROM attempts LIMIT 1 shows all columns"
    return f' Did you mean "{near[0]}" of {columns[near[0]]}? {listing}.' if near else f" {listing}."


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
