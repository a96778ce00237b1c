"""Compile a pipeline to an object file for C, and check it against NumPy first.

``python examples/object_for_c.py`` writes ``gain.o``, ``gain.h`` and ``spaces_runtime.o``, and
prints::

    equal to NumPy: True
     *   1: gain.extent.1 >= 16
     *   2: gain.extent.0 >= 8
     *   3: image.min.0 <= gain.min.0
     *   4: gain.extent.0 + gain.min.0 - 1 <= image.min.0 + image.extent.0 - 1
     *   5: image.min.1 <= gain.min.1
     *   6: gain.extent.1 + gain.min.1 - 1 <= image.min.1 + image.extent.1 - 1 */
    int32_t run_gain(spaces_pool *pool, const struct run_gain_arguments *arguments);
"""

from pathlib import Path

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Param, UInt8, Var, f32, u8_sat


def pipeline() -> spaces.Pipeline:
    """Pixels times a gain, limited to 8 bits."""
    x, y = Var("x"), Var("y")
    image, factor = ImageParam(UInt8, 2, "image"), Param(Float32, "factor", 1.5)
    gain = Func("gain")
    gain[x, y] = u8_sat(f32(image[x, y]) * factor + 0.5)
    return spaces.pipeline(gain, estimates={gain: [640, 480], image: [640, 480]})


def main() -> None:
    """Verifies, compares with NumPy, and writes the files."""
    work = pipeline()
    schedule = spaces.parse_schedule("gain.split(y, y, yi, 16).parallel(y).vectorize(x, 8)", work)
    compiled = spaces.compile_cpu(spaces.verify(work, schedule, spaces.device("cpu")))

    pixels = np.arange(32 * 64, dtype=np.uint8).reshape(32, 64)
    found = compiled.run({"image": pixels}, {"factor": 1.5}, {"gain": [64, 32]})["gain"]
    expected = np.minimum(np.floor(pixels * 1.5 + 0.5), 255)
    print("equal to NumPy:", (found == expected).all())

    Path("gain.o").write_bytes(compiled.object_bytes())
    Path("gain.h").write_text(compiled.c_header())
    Path("spaces_runtime.o").write_bytes(spaces.runtime_object())
    for line in compiled.c_header().splitlines():
        if line.startswith(("int32_t", " *   ")):
            print(line)


if __name__ == "__main__":
    main()
