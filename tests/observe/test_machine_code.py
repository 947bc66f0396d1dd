"""Compiled kernels are loaded without Numba, and only sound object code is loaded."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twinloop.observe import kernels, machine_code

pytest.importorskip("numba", reason="needs twinloop[fast]")

KINDS = tuple(kernels.KINDS["compiled_sampling"]["take_ids"].split())
MODULE = "twinloop.observe.compiled_sampling"


def taken(kernel: machine_code.Kernel) -> np.ndarray:
    out = np.zeros((1, 3), np.int16)
    kernel(np.array([[5, 6, 7, 8]], np.int16), np.array([3, 0, 2]), out)
    return out


def load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> machine_code.Kernel:
    monkeypatch.setattr(machine_code, "_folders", lambda _: (folder,))
    return machine_code.load(MODULE, {"take_ids": KINDS})["take_ids"]


def test_once_compiled_kernels_need_no_numba():
    assert kernels.compiled() is not None  # the cache has them now
    code = "import sys; from twinloop.observe.kernels import compiled; compiled(); print('numba' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "False"


def test_broken_object_code_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert taken(load(tmp_path, monkeypatch)).tolist() == [[8, 5, 7]]
    (file,) = tmp_path.glob("*.o")
    whole = file.read_bytes()
    for broken in (whole[:-100], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        file.write_bytes(broken)
        assert taken(load(tmp_path, monkeypatch)).tolist() == [[8, 5, 7]]
        assert len(file.read_bytes()) == len(whole)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    assert taken(load(tmp_path / "file", monkeypatch)).tolist() == [[8, 5, 7]]


@pytest.mark.parametrize("wrong", [np.zeros((1, 4), np.int32), np.zeros(4, np.int16), np.zeros((4, 2), np.int16).T])
def test_an_array_of_another_layout_is_refused(wrong: np.ndarray):
    compiled = kernels.compiled()
    assert compiled is not None
    with pytest.raises(TypeError, match="contiguous int16 with 2 axes was expected"):
        compiled.take_ids(wrong, np.zeros(1, np.int64), np.zeros((1, 1), np.int16))


def test_a_numba_that_keeps_its_code_elsewhere_calls_the_functions_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def missing(*_: object) -> None:
        raise AttributeError("_final_module")

    monkeypatch.setattr(machine_code, "_folders", lambda _: (tmp_path,))
    monkeypatch.setattr(machine_code, "_compiled", missing)
    functions = kernels._functions_of(MODULE, {"take_ids": kernels.KINDS["compiled_sampling"]["take_ids"]})
    assert not isinstance(functions["take_ids"], machine_code.Kernel)
    out = np.zeros((1, 3), np.int16)
    functions["take_ids"](np.array([[5, 6, 7, 8]], np.int16), np.array([3, 0, 2]), out)
    assert out.tolist() == [[8, 5, 7]]


def test_workers_do_not_compile_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The second one waits, and then loads what the first has compiled."""
    monkeypatch.setattr(machine_code, "_folders", lambda _: (tmp_path,))
    compiled, original = [], machine_code._compiled

    def slow(*arguments: Any) -> tuple[str, bytes]:
        compiled.append(arguments)
        time.sleep(0.2)
        return original(*arguments)

    monkeypatch.setattr(machine_code, "_compiled", slow)
    with ThreadPoolExecutor(2) as pool:
        symbols = list(pool.map(lambda _: machine_code._object(MODULE, "take_ids", KINDS, ("a", "b"))[0], range(2)))
    assert len(compiled) == 1
    assert symbols[0] == symbols[1]
