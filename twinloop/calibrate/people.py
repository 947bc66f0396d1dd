"""Checks the consent of the people in logs or frames before these are analysed."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from twinloop.dataset import Dataset
from twinloop.dataset.layout import HEADER
from twinloop.dataset.people.consent import CONSENT_COLUMNS, PARTICIPANT, require_consent
from twinloop.errors import DatasetError

INFO = Path("meta") / "info.json"
EXPORTED = "sim/"
"""Prefix of the columns of an attempt in an export."""


def ask_people(path: Path) -> None:
    """Check the consent of the people in the dataset that `path` is or lies in.

    Only datasets of this project and exports of them record participants; other paths are not checked.

    Raises:
        ConsentError: somebody did not consent to "analyse".
    """
    path = path.absolute()
    for folder in (path, *path.parents):
        if (folder / HEADER).is_file():
            require_consent(Dataset.open(folder).attempts(), "analyse", where=str(folder))
            return
        if (folder / INFO).is_file():
            _ask_export(folder)
            return


def _ask_export(root: Path) -> None:
    for file in sorted((root / "meta" / "episodes").rglob("*.parquet")):
        try:
            names = set(pq.read_schema(file).names)
            exported = {EXPORTED + name: name for name in (PARTICIPANT, *CONSENT_COLUMNS) if EXPORTED + name in names}
            people = pq.read_table(file, columns=list(exported)).rename_columns(list(exported.values()))
        except (pa.ArrowException, OSError) as error:
            raise DatasetError(f"{file}: cannot be read as a list of episodes: {error}") from None
        require_consent(people, "analyse", where=str(root))
