"""Logs in CSV files: delimiters, comments, missing cells, and invalid files."""

from pathlib import Path

import numpy as np
import pytest

from twinloop.calibrate.logs import read_logs
from twinloop.errors import DatasetError


def read(path: Path, *, time: str = "t", rate_hz: float = 100):
    return read_logs(path, format="csv", files="*.csv", rows="", time=time, rate_hz=rate_hz)


def written(folder: Path, text: str) -> Path:
    path = folder / "log.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_delimiter_is_recognised(tmp_path: Path, delimiter: str):
    rows = ["t, q1 ,tau", "0.0,1.5,-2e-3", "0.01,1.6,3"]
    (log,) = read(written(tmp_path, "\n".join(rows).replace(",", delimiter)))
    assert log.name == "log"
    assert log.time_s.tolist() == [0.0, 0.01]
    assert log.columns["q1"][:, 0].tolist() == [1.5, 1.6]
    assert log.columns["tau"][:, 0].tolist() == [-2e-3, 3]


def test_comments_and_empty_lines_are_skipped_and_text_columns_left_out(tmp_path: Path):
    (log,) = read(written(tmp_path, "# recorded by hand\nt,mode,q\n\n0,auto,1\n# half time\n0.01,manual,2\n"))
    assert set(log.columns) == {"t", "q"}
    assert log.columns["q"][:, 0].tolist() == [1, 2]


def test_a_cell_without_a_number_keeps_its_row(tmp_path: Path):
    (log,) = read(written(tmp_path, "t,q,i\n0,1,2\n0.01,,3\n0.02,x,inf\n0.03,4\n"))
    assert np.array_equal(log.columns["q"][:, 0], [1, np.nan, np.nan, 4], equal_nan=True)
    assert np.array_equal(log.columns["i"][:, 0], [2, 3, np.nan, np.nan], equal_nan=True)


def test_without_a_time_column_rows_are_evenly_spaced(tmp_path: Path):
    (log,) = read(written(tmp_path, "q\n1\n2\n3\n"), time="", rate_hz=500)
    assert log.time_s.tolist() == [0, 0.002, 0.004]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has 0 lines"),
        ("t,q\n", "has 1 lines"),
        ("0.0,1.0\n0.1,2.0\n", "its first line contains numbers"),
        ("t,q,q\n0,1,2\n", "'q' more than once"),
        ("time,q\n0,1\n", "has no column of numbers 't'.*Valid here: q, time"),
        ("t,q\n0,1\n,2\n", "row 2 has no number in its time column"),
    ],
)
def test_invalid_files_are_refused_by_name(tmp_path: Path, text: str, message: str):
    with pytest.raises(DatasetError, match=rf"log\.csv: .*{message}"):
        read(written(tmp_path, text))


def test_a_binary_file_is_refused(tmp_path: Path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"t,q\n\xff\xfe0,1\n")
    with pytest.raises(DatasetError, match="is not UTF-8 text"):
        read(path)
