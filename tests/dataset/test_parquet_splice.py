"""A spliced file is what PyArrow writes from the same tables, to the byte."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twinloop.dataset._parquet_footer import footer_bytes, read_footer
from twinloop.dataset._parquet_splice import SplicedWriter
from twinloop.dataset.parquet import encode, frame_options, read_table
from twinloop.durable import DurableFile

VECTOR = pa.list_(pa.field("element", pa.float32(), nullable=False), 3)
SCHEMA = pa.schema([
    pa.field("state", VECTOR, nullable=False),
    pa.field("done", pa.bool_(), nullable=False),
    pa.field("phase", pa.int64(), nullable=False),
    pa.field("index", pa.int64(), nullable=False),
])  # fmt: skip
OPTIONS = frame_options(SCHEMA, ordered=["index"])


def table(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    state = pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(size=3 * rows).astype(np.float32)), type=VECTOR)
    columns = [state, pa.array(rng.random(rows) < 0.5), pa.array(rng.integers(0, 4, rows)), pa.array(np.arange(rows))]
    return pa.table(columns, schema=SCHEMA)


def parts_of(whole: pa.Table) -> list[memoryview]:
    """The columns of a table in two files, in another order and with a column more."""
    more = whole.append_column(pa.field("attempt", pa.int64(), nullable=False), whole["index"])
    parts = (more.select(["attempt", "phase", "state", "done"]), whole.select(["index"]))
    return [memoryview(encode(part, frame_options(part.schema, ordered=["index"]))) for part in parts]


def test_it_is_the_file_that_pyarrow_writes(tmp_path: Path):
    tables = [table(rows, seed) for seed, rows in enumerate((1000, 1, 70_000))]
    with DurableFile(tmp_path / "spliced") as sink:
        writer = SplicedWriter(sink, SCHEMA, OPTIONS)
        for whole in tables:
            writer.append(parts_of(whole))
        writer.close()
    with pq.ParquetWriter(tmp_path / "written", SCHEMA, **OPTIONS) as writer:
        for whole in tables:
            writer.write_table(whole, row_group_size=whole.num_rows)
    assert (tmp_path / "spliced").read_bytes() == (tmp_path / "written").read_bytes()
    assert read_table(tmp_path / "spliced").equals(pa.concat_tables(tables))


def test_parts_with_different_numbers_of_rows_are_refused(tmp_path: Path):
    with DurableFile(tmp_path / "spliced") as sink, pytest.raises(ValueError, match="too many values"):
        SplicedWriter(sink, SCHEMA, OPTIONS).append([parts_of(table(5, 0))[0], parts_of(table(6, 0))[1]])


@pytest.mark.parametrize(
    "written",
    [
        {"compression": "zstd", "write_page_index": True, "version": "1.0"},
        {"compression": "snappy", "sorting_columns": [pq.SortingColumn(3)], "store_decimal_as_integer": True},
        {"compression": {"state.list.element": "none"}, "write_page_checksum": True},
    ],
)
def test_footers_of_any_options_are_kept_to_the_byte(written: dict):
    wide = table(10, 0)
    for number in range(20):  # a list of more than 14 elements has another head
        wide = wide.append_column(f"text {number}", pa.array(["word"] * 10))
    file = memoryview(encode(wide.replace_schema_metadata({"note": "x" * 300}), written))
    assert bytes(file).endswith(footer_bytes(read_footer(file)))
