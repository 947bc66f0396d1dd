"""What a camera's JPEG stream leaves of a picture: luma and half-size chroma, 8 × 8 cosine transforms, quantised.

The entropy coder is left out: it loses nothing.
"""

import numpy as np

# ITU-T T.81, annex K: the tables for quality 50.
LUMA = np.array([
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51,
    87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
], np.float32).reshape(8, 8)  # fmt: skip
CHROMA = np.full((8, 8), 99, np.float32)
CHROMA[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]

TO_YCC = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], np.float32)
TO_RGB = np.linalg.inv(TO_YCC).astype(np.float32)

_k, _n = np.mgrid[0:8, 0:8]
DCT = (np.sqrt(np.where(_k == 0, 1, 2) / 8) * np.cos(np.pi * (2 * _n + 1) * _k / 16)).astype(np.float32)


def compressed(rgb: np.ndarray, quality: float) -> np.ndarray:
    """(f, h, w, 3) uint8 after a JPEG of this quality, 1 to 100; 100 leaves it as it is."""
    if quality >= 100:
        return rgb
    height, width = rgb.shape[1:3]
    # Chroma of half the size still needs whole blocks.
    padded = np.pad(rgb, ((0, 0), (0, -height % 16), (0, -width % 16), (0, 0)), mode="edge")
    ycc = padded.astype(np.float32) @ TO_YCC.T
    scale = 50 / quality if quality < 50 else 2 - quality / 50
    luma = _quantised(ycc[..., 0] - 128, LUMA, scale) + 128
    halves = ycc[..., 1:].reshape(len(ycc), ycc.shape[1] // 2, 2, ycc.shape[2] // 2, 2, 2).mean(axis=(2, 4))
    chroma = [_quantised(halves[..., part], CHROMA, scale).repeat(2, axis=1).repeat(2, axis=2) for part in (0, 1)]
    back = np.stack([luma, *chroma], axis=-1) @ TO_RGB.T
    return np.clip(np.round(back), 0, 255).astype(np.uint8)[:, :height, :width]


def _quantised(plane: np.ndarray, table: np.ndarray, scale: float) -> np.ndarray:
    frames, height, width = plane.shape
    blocks = plane.reshape(frames, height // 8, 8, width // 8, 8).swapaxes(2, 3)
    step = np.maximum(np.round(table * scale), 1)
    kept = np.round(DCT @ blocks @ DCT.T / step) * step
    return (DCT.T @ kept @ DCT).swapaxes(2, 3).reshape(frames, height, width)
