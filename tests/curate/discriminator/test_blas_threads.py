"""Scoring uses one BLAS thread, and gives the others back."""

import pytest

from twinloop.curate.discriminator.blas_threads import one_blas_thread


def test_there_is_one_blas_thread_inside_and_as_many_as_before_outside():
    threadpoolctl = pytest.importorskip("threadpoolctl", reason="pip install 'twinloop[curate]'")

    def blas_threads() -> list[int]:
        libraries = threadpoolctl.ThreadpoolController().info()
        return [library["num_threads"] for library in libraries if library["user_api"] == "blas"]

    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
