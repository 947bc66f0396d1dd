import time

import pytest

from tests.dataset.synthetic import CONFIG_TEXT, header, run, verdict_of
from twinloop.dataset import Dataset, DatasetWriter, query
from twinloop.errors import UsageError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("query") / "d"
    run(path, header(episodes=20))
    return path


def test_attempts_episodes_and_frames_agree(path):
    dataset = Dataset.open(path)
    counts = query(
        path,
        "SELECT (SELECT count(*) FROM attempts) a, (SELECT count(*) FROM episodes) e, (SELECT count(*) FROM frames) f",
    )
    assert counts.to_pylist() == [{"a": 20, "e": dataset.stored, "f": dataset.frame_count}]
    accepted = [attempt for attempt in range(20) if verdict_of(attempt) == "accepted"]
    rows = query(path, "SELECT episode_index, attempt FROM episodes ORDER BY attempt").to_pylist()
    assert [(row["episode_index"], row["attempt"]) for row in rows] == list(enumerate(accepted))
    lengths = query(path, "SELECT count(*) n FROM frames GROUP BY episode_index ORDER BY episode_index")
    expected = query(path, "SELECT length n FROM episodes ORDER BY episode_index")
    assert lengths.to_pylist() == expected.to_pylist()


def test_vectors_can_be_indexed_and_draws_compared(path):
    result = query(
        path,
        'SELECT max("observation.state"[1]) x FROM frames JOIN episodes USING (episode_index) '
        'WHERE "draw/mass_kg" > 0.2 AND "draw/colour" = \'red\'',
    )
    rows = [
        Dataset.open(path).episode(attempt=attempt)["observation.state"][:, 0].max()
        for attempt in range(20)
        if verdict_of(attempt) == "accepted" and 0.1 + attempt / 100 > 0.2 and attempt % 2
    ]
    assert result["x"].to_pylist() == [pytest.approx(max(rows))]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM glob('{folder}/*')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "COPY attempts TO '{folder}/out.parquet'",
        "ATTACH '{folder}/out.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "CREATE TABLE t AS SELECT 1",
        "DROP VIEW frames",
        "SELECT 1; COPY (SELECT 1) TO '{folder}/out.csv'",
        "SELECT * FROM dataset",
        "SELECT * FROM CONFIG_TEXT",
    ],
)
def test_a_statement_reaches_nothing_but_the_dataset(path, tmp_path, sql):
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nhush\n")
    with pytest.raises(UsageError) as caught:
        query(path, sql.format(secret=secret, folder=tmp_path))
    assert "hush" not in str(caught.value)
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]


def test_an_unknown_column_gets_the_nearest_name_and_no_list(path):
    with pytest.raises(UsageError, match='Did you mean "draw/mass_kg" of attempts') as caught:
        query(path, 'SELECT "draw/mass" FROM episodes')
    message = str(caught.value)
    assert message.count("\n") == 0
    assert len(message) < 300
    assert "check/drop_m" not in message
    assert "SELECT * FROM attempts LIMIT 1" in message


def test_an_unknown_table_error_lists_all_tables(path):
    with pytest.raises(UsageError, match="Tables: attempts, episodes, frames"):
        query(path, "SELECT * FROM episode")


def test_a_query_stops_after_its_timeout(path):
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"stopped after 0.5 s.*--timeout"):
        query(path, "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", timeout_s=0.5)
    assert time.monotonic() - began < 30


def test_a_result_with_too_many_rows_is_refused(path):
    with pytest.raises(UsageError, match=r"more than 10 rows; add a LIMIT"):
        query(path, "SELECT * FROM frames", max_rows=10)
    assert query(path, "SELECT * FROM frames LIMIT 10", max_rows=10).num_rows == 10


def test_an_empty_dataset_has_empty_tables(tmp_path):
    DatasetWriter.open(tmp_path / "d", header(), CONFIG_TEXT).close()
    for table in ("attempts", "episodes", "frames"):
        assert query(tmp_path / "d", f"SELECT count(*) n FROM {table}").to_pylist() == [{"n": 0}]
