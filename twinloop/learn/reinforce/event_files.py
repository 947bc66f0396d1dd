"""EventFiles: figures of a training for TensorBoard."""

from pathlib import Path
from types import TracebackType


class EventFiles:
    """Writes event files. Without the package tensorboard nothing is written: the curve has the same figures.

    Args:
        first: iterations that are already done; later entries of an earlier run are replaced.
    """

    def __init__(self, folder: Path, first: int):
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError:
            self._writer = None
        else:
            self._writer = SummaryWriter(str(folder), purge_step=first + 1)

    def __enter__(self) -> "EventFiles":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        if self._writer is not None:
            self._writer.close()

    def write(self, step: int, values: dict[str, float]) -> None:
        if self._writer is not None:
            for tag, value in values.items():
                self._writer.add_scalar(tag, value, step)
