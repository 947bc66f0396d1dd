"""Errors of a depth camera from scans of a table: quantisation step, noise over distance, and share of holes.

For a plane in space, 1/z is linear in the pixel. So a linear function is fitted to 1/z in small patches of the table.
The residuals are compared with those of the twin's depth camera (`observe/depth.py`) in the same patches of the same
plane. Slant, patch size and quantisation then affect both alike and need no model of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.sensors.estimate import IntervalEstimate
from twinloop.calibrate.sensors.pcd import Scan
from twinloop.calibrate.sensors.table_plane import Plane, table_plane
from twinloop.errors import DatasetError
from twinloop.observe.depth import jittered, quantised
from twinloop.observe.noise import NormalStream

PATCH_PX = 12
FEWEST_PATCHES, FEWEST_OF_BIN = 40, 24
COARSEST_MM, FINEST_MM = 40.0, 0.4
SPREADS_PX = np.concatenate([[0.0], np.geomspace(0.2, 6.0, 11)])
REPEATS = 200
BIN_M = 0.1


@dataclass(frozen=True)
class DepthBin:
    """Deviation from the table plane in one range of distances, measured and in the fitted twin."""

    near_m: float
    far_m: float
    patches: int
    measured_mm: float
    twin_mm: float


@dataclass(frozen=True)
class DepthNoise:
    """Errors of a depth camera.

    Attributes:
        step_mm: quantisation step at 1 m, which grows with the square of the distance; None if no step is visible.
        spread_px: jitter of the twin's camera that gives the measured residuals, over all distances.
        near_far_px: lowest and highest jitter over the interval of `spread_px` and the fits to single distance bins.
            The bins differ if the noise of the camera depends on distance in another way than the twin's.
        hole_share: share of the table's pixels without depth.
        axial_mm: (c0, c2) of the measured deviation c0 + c2 z², with z in metres.
        bins: deviation by distance.
    """

    step_mm: IntervalEstimate | None
    spread_px: IntervalEstimate
    near_far_px: tuple[float, float]
    hole_share: IntervalEstimate
    axial_mm: tuple[float, float]
    bins: tuple[DepthBin, ...]


@dataclass(frozen=True)
class Patches:
    """Patches of one scan on the plane.

    Attributes:
        rows, columns: index of the patch in the grid of patches.
        z_m: mean distance.
        variance: residual variance in metres squared.
    """

    rows: np.ndarray
    columns: np.ndarray
    z_m: np.ndarray
    variance: np.ndarray


def depth_noise(scans: Sequence[Scan], *, rng: np.random.Generator) -> DepthNoise:
    """Estimate the errors of a depth camera from scans of a table.

    Raises:
        DatasetError: too little of a plane is visible.
    """
    depths = [scan.points_m[..., 2] for scan in scans]
    step = depth_step(np.concatenate([depth[np.isfinite(depth)] for depth in depths]), rng=rng)
    planes = [table_plane(scan, rng=rng) for scan in scans]
    measured = [patches_of(depth, plane.on_it) for depth, plane in zip(depths, planes, strict=True)]
    if sum(len(patches.z_m) for patches in measured) < FEWEST_PATCHES:
        raise DatasetError(
            f"{scans[0].name}: too little of a plane is visible; scan an empty table that fills the view"
        )
    twin = _Twin(measured, planes, 0.0 if step is None else step.value)
    coarse = _Law(measured, SPREADS_PX, twin.variances(SPREADS_PX, rng=rng))
    spreads = [*coarse.by_distance(), coarse.spread()]
    # A second, finer grid covers only the range that the first one found.
    fine = np.unique(np.concatenate([np.linspace(0.8 * min(spreads), 1.2 * max(spreads), 12), [0.0]]))
    law = _Law(measured, fine, twin.variances(fine, rng=rng))
    spread = law.spread()
    blocks = _blocks(measured)
    again = [law.spread(_resampled(blocks, rng)) for _ in range(REPEATS)]
    low, high = np.quantile(again, [0.05, 0.95])
    by_distance = law.by_distance()
    bins = law.bins(spread)
    return DepthNoise(
        step_mm=step,
        spread_px=IntervalEstimate(spread, float(min(low, spread)), float(max(high, spread))),
        near_far_px=(float(min(low, *by_distance)), float(max(high, *by_distance))),
        hole_share=_holes(depths, planes),
        axial_mm=_axial(bins),
        bins=bins,
    )


def depth_step(depth_m: np.ndarray, *, rng: np.random.Generator) -> IntervalEstimate | None:
    """Quantisation step in millimetres at 1 m; None if no step is visible.

    The depths are multiples of a disparity step in 1/z, and may have been rounded again. The spectrum of the distinct
    values of 1/z has its first high peak at the inverse of the step.
    """
    values = np.unique(np.asarray(depth_m, float))
    gap = float(np.median(np.diff(values))) if len(values) > 1 else 0.0
    # At short distance the steps may be finer than the second rounding, which hides them.
    far = values[values > np.quantile(values, 0.5)]
    if len(far) < 16 or len(far) > 20_000 or gap <= 0:
        return None
    disparity = 1 / far
    span = float(np.ptp(disparity))
    lines = np.arange(1000 / COARSEST_MM, 1000 / FINEST_MM, 0.2 / span)

    def coherence(values: np.ndarray, lines: np.ndarray) -> np.ndarray:
        parts = [np.abs(np.exp(2j * np.pi * np.outer(chunk, values)).mean(axis=1)) for chunk in _chunks(lines, 512)]
        return np.concatenate(parts)

    height = coherence(disparity, lines)
    # Random values give 1/√n. Values on a grid of millimetres are not even in 1/z and give little more.
    if height.max() < max(0.5, 5 / np.sqrt(len(far))):
        return None
    first = lines[np.flatnonzero(height >= 0.8 * height.max())[0]]
    fine = first + np.linspace(-1.0, 1.0, 401) / span

    def peak(values: np.ndarray) -> float:
        return 1000 / float(fine[np.argmax(coherence(values, fine))])

    again = [peak(rng.choice(disparity, len(disparity))) for _ in range(60)]
    best = peak(disparity)
    # The peak is searched on a grid, so half a grid cell is added to the uncertainty.
    cell = best**2 / 1000 * float(fine[1] - fine[0]) / 2
    low, high = np.quantile(again, [0.05, 0.95])
    return IntervalEstimate(best, float(min(low, best) - cell), float(max(high, best) + cell))


def _chunks(values: np.ndarray, size: int) -> list[np.ndarray]:
    return [values[first : first + size] for first in range(0, len(values), size)]


def patches_of(depth_m: np.ndarray, on_plane: np.ndarray | None) -> Patches:
    """Patches that lie entirely on the plane, with the residual variance of a linear fit to 1/z.

    Args:
        on_plane: (h, w) pixels on the plane; None if all are.
    """
    rows, columns = depth_m.shape[0] // PATCH_PX, depth_m.shape[1] // PATCH_PX

    def squares(image: np.ndarray) -> np.ndarray:
        cut = image[: rows * PATCH_PX, : columns * PATCH_PX].reshape(rows, PATCH_PX, columns, PATCH_PX)
        return cut.swapaxes(1, 2).reshape(rows * columns, PATCH_PX * PATCH_PX)

    whole = np.ones(rows * columns, bool) if on_plane is None else squares(on_plane).all(axis=1)
    z = squares(depth_m)[whole]
    v, u = np.mgrid[:PATCH_PX, :PATCH_PX] - (PATCH_PX - 1) / 2
    base = np.linalg.qr(np.stack([np.ones(u.size), u.ravel(), v.ravel()], axis=1))[0]
    disparity = 1 / z
    left = disparity - disparity @ base @ base.T
    middle = np.flatnonzero(whole)
    mean_z = 1 / disparity.mean(axis=1)
    variance = np.square(left).sum(axis=1) / (PATCH_PX**2 - 3) * mean_z**4
    return Patches(middle // columns, middle % columns, mean_z, variance)


class _Twin:
    """Simulates the twin's depth camera in front of the same planes."""

    def __init__(self, measured: Sequence[Patches], planes: Sequence[Plane], step_mm: float):
        self._measured, self._step_mm = measured, step_mm
        self._truths = [plane.depth_m.astype(np.float32) for plane in planes]

    def variances(self, spreads_px: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """(spreads, patches) residual variance in the same patches, for each jitter."""
        variances = []
        for patches, truth in zip(self._measured, self._truths, strict=True):
            # All spreads use the same noise, so that the curve is smooth.
            noise = NormalStream(rng).normals(2, *truth.shape)
            number = patches.rows * (truth.shape[1] // PATCH_PX) + patches.columns
            images = [quantised(jittered(truth, spread, noise), self._step_mm) for spread in spreads_px]
            variances.append([patches_of(image.astype(float), None).variance[number] for image in images])
        return np.concatenate(variances, axis=1)


class _Law:
    """Residual variance of the twin as a function of its jitter, with the measured variance, for each patch."""

    def __init__(self, measured: Sequence[Patches], spreads_px: np.ndarray, modelled: np.ndarray):
        self.spreads, self.modelled = spreads_px, modelled
        self.z = np.concatenate([patches.z_m for patches in measured])
        self.variance = np.concatenate([patches.variance for patches in measured])
        self.bin = np.floor(self.z / BIN_M).astype(int)

    def spread(self, chosen: np.ndarray | None = None) -> float:
        """The jitter at which the twin has the measured residual variance, over all patches or the chosen ones."""
        chosen = np.arange(len(self.z)) if chosen is None else chosen
        weight = 1 / self.z[chosen] ** 4
        # The median is not affected by a few patches that contain an object.
        measured = np.log(np.median(self.variance[chosen] * weight))
        modelled = np.log(np.median(self.modelled[:, chosen] * weight, axis=1) + 1e-30)
        return float(np.interp(measured, np.maximum.accumulate(modelled), self.spreads))

    def _full_bins(self) -> list[np.ndarray]:
        inside = [np.flatnonzero(self.bin == members) for members in np.unique(self.bin)]
        return [members for members in inside if len(members) >= FEWEST_OF_BIN]

    def by_distance(self) -> list[float]:
        return [self.spread(inside) for inside in self._full_bins()]

    def bins(self, spread: float) -> tuple[DepthBin, ...]:
        above = int(np.clip(np.searchsorted(self.spreads, spread), 1, len(self.spreads) - 1))
        before, after = self.spreads[above - 1], self.spreads[above]
        share = float(np.clip((spread - before) / (after - before), 0, 1))
        twin = (1 - share) * self.modelled[above - 1] + share * self.modelled[above]
        rows = []
        for inside in self._full_bins():
            near = float(self.bin[inside[0]]) * BIN_M
            real, modelled = (1000 * float(np.sqrt(np.median(variance[inside]))) for variance in (self.variance, twin))
            rows.append(DepthBin(near, near + BIN_M, len(inside), real, modelled))
        return tuple(rows)


def _blocks(measured: Sequence[Patches]) -> list[np.ndarray]:
    """Groups of neighbouring patches, whose errors are correlated. The bootstrap resamples whole groups."""
    keys = np.concatenate([
        number * 10_000 + (patches.rows // 4) * 100 + patches.columns // 4 for number, patches in enumerate(measured)
    ])  # fmt: skip
    return [np.flatnonzero(keys == key) for key in np.unique(keys)]


def _resampled(blocks: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([blocks[place] for place in rng.integers(len(blocks), size=len(blocks))])


def _axial(bins: Sequence[DepthBin]) -> tuple[float, float]:
    z = np.array([(depth_bin.near_m + depth_bin.far_m) / 2 for depth_bin in bins])
    weight = np.sqrt([depth_bin.patches for depth_bin in bins])
    design = np.stack([np.ones_like(z), z**2], axis=1) * weight[:, None]
    solution = np.linalg.lstsq(design, weight * np.array([depth_bin.measured_mm for depth_bin in bins]), rcond=None)[0]
    return float(solution[0]), float(solution[1])


def _holes(depths: Sequence[np.ndarray], planes: Sequence[Plane]) -> IntervalEstimate:
    """Share of pixels without depth between the left and right end of the table in each row of pixels.

    Pixels beyond the ends are not counted, because they may be out of the camera's range. The interval spans the shares
    of single scans, because differences between scenes are most of the uncertainty.
    """
    shares = []
    for depth, plane in zip(depths, planes, strict=True):
        begun = np.maximum.accumulate(plane.on_it, axis=1)
        going_on = np.maximum.accumulate(plane.on_it[:, ::-1], axis=1)[:, ::-1]
        shares.append(float(1 - np.isfinite(depth)[begun & going_on].mean()))
    return IntervalEstimate(float(np.mean(shares)), min(shares), max(shares))
