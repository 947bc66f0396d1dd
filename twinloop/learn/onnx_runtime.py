"""OnnxRuntime: runs a policy with ONNX Runtime on the CPU. Robots use it because it does not need torch."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from twinloop.durable import read_bounded
from twinloop.errors import CheckpointError, UsageError
from twinloop.learn.pictures import as_read
from twinloop.learn.space import Space

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

METADATA = "twinloop"
FORMAT_VERSION = 1
MAX_FILE_BYTES = 2 << 30
ELSEWHERE = b"\n\x08location"
"""Bytes that mark weights in an external file. Such files are refused because the path could be any file."""


class OnnxRuntime:
    """An exported policy.

    Attributes:
        card_digest: digest of the checkpoint that it was exported from.
        knows_real: the policy was trained on real data.
    """

    def __init__(self, path: Path, *, threads: int = 1):
        self._session = session_of(_content(path), threads=threads, where=path)
        facts = _facts(path, self._session)
        try:
            self.space = Space.from_json(facts["space"])
            self.horizon, self.executed = int(facts["horizon"]), int(facts["executed"])
            self.policy, self.card_digest = str(facts["policy"]), str(facts["card_digest"])
            self._image_size = int(facts["image_size"])
            # Older files lack this key; their policies count as not trained on real data.
            self.knows_real = bool(facts.get("knows_real", False))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"{path}: its metadata is malformed: {error!r:.200}") from None
        expected = [*(feature.name for feature in self.space.inputs), "real", "noise"]
        inputs = [argument.name for argument in self._session.get_inputs()]
        if inputs != expected:
            raise CheckpointError(
                f"{path}: has the inputs {', '.join(inputs)}; its metadata lists {', '.join(expected)}"
            )

    def chunks(
        self,
        observation: Mapping[str, np.ndarray],
        *,
        instructions: Sequence[str],
        real: bool,
        noise: np.ndarray,
    ) -> np.ndarray:
        given = as_read(self.space, observation, self._image_size)
        given["real"] = np.full(len(instructions), real, np.float32)
        given["noise"] = np.asarray(noise, np.float32)
        return np.asarray(self._session.run(None, given)[0])


def session_of(content: bytes, *, threads: int, where: Path | str = "ONNX") -> "InferenceSession":
    try:
        import onnxruntime
    except ImportError:
        raise UsageError("ONNX needs onnxruntime: pip install 'twinloop[learn]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's exceptions have no narrower common base
        raise CheckpointError(f"{where}: ONNX Runtime cannot load it: {error!s:.300}") from None


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise CheckpointError(f"{path}: is not a file; an ONNX file of `twinloop export` was expected")
    content = read_bounded(path, MAX_FILE_BYTES, error=CheckpointError)
    if ELSEWHERE in content:
        raise CheckpointError(
            f"{path}: stores weights in external files; an ONNX file with embedded weights was expected"
        )
    return content


def _facts(path: Path, session: "InferenceSession") -> dict[str, Any]:
    text = session.get_modelmeta().custom_metadata_map.get(METADATA)
    if text is None:
        raise CheckpointError(f"{path}: was not written by `twinloop export`: its metadata has no {METADATA!r}")
    try:
        facts = json.loads(text)
        version = facts["format_version"]
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path}: its metadata is malformed: {error!r:.200}") from None
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"{path}: format_version: {version!r} was given; this version of twinloop reads {FORMAT_VERSION}"
        )
    return facts
