import numpy as np
import pytest

from tests.calibrate.sensors.scans import plane_scan, write_pcd
from twinloop.calibrate.sensors.pcd import Scan, read_scan
from twinloop.errors import DatasetError


@pytest.mark.parametrize("form", ["ascii", "binary", "binary_compressed"])
def test_round_trip(tmp_path, form: str):
    scan = plane_scan(0.5, 2.0, np.random.default_rng(0))
    points = scan.points_m[::8, ::8].copy()
    points[3:6, 4:20] = np.nan
    write_pcd(tmp_path / "a.pcd", Scan("a", points), form)
    np.testing.assert_array_equal(read_scan(tmp_path / "a.pcd").points_m, points.astype(np.float32).astype(float))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"nothing of the kind", "not a PCD file"),
        (b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 4\nHEIGHT 1\nDATA binary\n", "list of points"),
        (b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 4\nHEIGHT 4\nDATA binary\n1234", "fewer points"),
        (b"FIELDS x y\nSIZE 4 4\nTYPE F F\nWIDTH 4\nHEIGHT 4\nDATA binary\n", "x, y, z"),
        (b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 9999999\nHEIGHT 99999\nDATA binary\n", "points"),
    ],
)
def test_other_files_are_refused(tmp_path, content: bytes, said: str):
    (tmp_path / "a.pcd").write_bytes(content)
    with pytest.raises(DatasetError, match=said):
        read_scan(tmp_path / "a.pcd")
