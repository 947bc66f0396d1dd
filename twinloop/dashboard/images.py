"""Images as PNG and JPEG."""

from io import BytesIO
from pathlib import Path

import numpy as np

from twinloop.errors import StorageError

JPEG_QUALITY = 82


def write_png(path: Path, image: np.ndarray) -> None:
    """image: (height, width, 3) uint8."""
    try:
        path.write_bytes(png_bytes(image))
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}") from None


def png_bytes(image: np.ndarray) -> bytes:
    return _encoded(image, "PNG", optimize=True)


def jpeg_bytes(image: np.ndarray) -> bytes:
    return _encoded(image, "JPEG", quality=JPEG_QUALITY, optimize=True)


def _encoded(image: np.ndarray, kind: str, **options: object) -> bytes:
    from PIL import Image

    file = BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(file, kind, **options)
    return file.getvalue()
