"""A scan by angle and distance, as of a radar, drawn as a disk."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import (
    Func,
    ImageParam,
    Pipeline,
    UInt16,
    Var,
    atan2,
    clamp,
    f32,
    floor,
    i32,
    lerp,
    sqrt,
)
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

ANGLES, DISTANCES = 1440, 512


def pipeline() -> Pipeline:
    """Each pixel between two angles and two distances; beyond the farthest distance lies that
    distance. The first dimension of the scan is the angle.
    """
    x, y = Var("x"), Var("y")
    scan = ImageParam(UInt16, 2, "scan")
    output = Func("output")
    middle = f32(scan.height()) - 0.5
    u, v = f32(x) - middle, f32(y) - middle
    angle = (atan2(v, u) + np.pi) * (f32(scan.width()) / (2.0 * np.pi))
    distance = spaces.min(sqrt(u * u + v * v), f32(scan.height() - 1))
    i, j = i32(floor(angle)), clamp(i32(floor(distance)), 0, scan.height() - 2)
    before, after = i % scan.width(), (i + 1) % scan.width()
    angle_part, distance_part = angle - f32(i), distance - f32(j)
    near = lerp(f32(scan[before, j]), f32(scan[after, j]), angle_part)
    far = lerp(f32(scan[before, j + 1]), f32(scan[after, j + 1]), angle_part)
    output[x, y] = lerp(near, far, distance_part)
    size = [2 * DISTANCES, 2 * DISTANCES]
    return spaces.pipeline(
        output,
        name="polar_to_cartesian",
        estimates={scan: [ANGLES, DISTANCES], output: size},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with complex coordinates, on a scan that has its first angle at the end again."""
    scan = inputs["scan"].astype(np.float64)
    distances, angles = scan.shape
    closed = np.concatenate([scan, scan[:, :1]], 1)
    y, x = np.mgrid[: 2 * distances, : 2 * distances] - (distances - 0.5)
    places = x + 1j * y
    angle = (np.angle(places) / (2 * np.pi) + 0.5) * angles
    distance = np.minimum(np.abs(places), distances - 1)
    i = np.minimum(angle.astype(int), angles - 1)
    j = np.minimum(distance.astype(int), distances - 2)
    found = np.zeros(places.shape)
    for di, dj in np.ndindex(2, 2):
        weights = (1 - np.abs(angle - i - di)) * (1 - np.abs(distance - j - dj))
        found += weights * closed[j + dj, i + di]
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="polar_to_cartesian",
    kind=PipelineKind.WARPS,
    summary="a scan by angle and distance as a disk, 16 bits to float32",
    pipeline=pipeline,
    expected=expected,
    small={"scan": (37, 19), "output": (38, 38)},
    tolerance=1e-5,
)
