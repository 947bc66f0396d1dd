"""OnnxRuntime: runs a policy with ONNX Runtime on the CPU. Robots use it because it does not need torch."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from twinloop.config.fields import version
from twinloop.config.json_file import record_from_json
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


@dataclass(frozen=True, kw_only=True)
class OnnxMetadata:
    """Metadata of an exported policy.

    Attributes:
        card_digest: digest of the checkpoint that it was exported from.
        policy: kind of the network.
        knows_real: the policy was trained on real data. Older files lack this key; they count as not trained on it.
    """

    format_version: int = version(FORMAT_VERSION)
    card_digest: str
    policy: str
    horizon: int
    executed: int
    image_size: int
    space: Space
    knows_real: bool = False


class OnnxRuntime:
    """An exported policy.

    Attributes:
        card_digest: digest of the checkpoint that it was exported from.
        knows_real: the policy was trained on real data.
    """

    def __init__(self, path: Path, *, threads: int = 1):
        self._session = session_of(_content(path), threads=threads, where=path)
        metadata = _metadata(path, self._session)
        self.space, self.horizon, self.executed = metadata.space, metadata.horizon, metadata.executed
        self.policy, self.card_digest = metadata.policy, metadata.card_digest
        self.knows_real, self._image_size = metadata.knows_real, metadata.image_size
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
        given = as_read(self.space, observation, self._image_size, instructions)
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


def _metadata(path: Path, session: "InferenceSession") -> OnnxMetadata:
    text = session.get_modelmeta().custom_metadata_map.get(METADATA)
    if text is None:
        raise CheckpointError(f"{path}: was not written by `twinloop export`: its metadata has no {METADATA!r}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: its metadata is not JSON ({error!s:.200})") from None
    return record_from_json(OnnxMetadata, value, where=f"{path}: metadata", error=CheckpointError)
