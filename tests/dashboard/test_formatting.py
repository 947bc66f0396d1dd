import pytest

from twinloop.dashboard.formatting import file_size, interval, number, percent


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1, "100 %"), (0.5, "50 %"), (0.123, "12.3 %"), (0.99999, "> 99.9 %"), (0.00001, "< 0.1 %")],
)
def test_percent_never_rounds_to_all_or_nothing(share, text):
    assert percent(share) == text


def test_numbers_are_short():
    assert [number(value) for value in (0, 0.05234, -4.997, 12345.6, 199)] == ["0", "0.0523", "−5", "12,346", "199"]
    assert number(float("nan")) == percent(float("nan")) == "–"
    assert interval(-0.5, 2) == "−0.5 to 2"


def test_file_sizes_use_powers_of_1000():
    assert [file_size(size) for size in (12, 1500, 2.5e6, 3e12)] == ["12 B", "1.5 kB", "2.5 MB", "3 TB"]
