"""Find a schedule for another machine that stores little, and keep it as text beside the code.

``python examples/find_and_keep.py`` writes ``blur.sched`` and prints::

    30 of 59 schedules store at most 32 KiB of across
    blur.split(y, y, yi, 32).split(x, x, xv, 64).vectorize(xv).parallel(y)
    across.compute_at(blur, yi).store_at(blur, y).split(x, x, xv, 32).vectorize(xv)
    read from the file: The schedule of blur is legal for cpu.
"""

from pathlib import Path

import attrs

import spaces
from spaces import Func, ImageParam, KiB, MiB, Options, UInt8, Var, bytes_stored, u8, u16

SERVER = attrs.evolve(
    spaces.device("cpu"),
    model="generic",
    cores=16,
    vector_bits=256,
    unit_bits=256,
    l1_bytes=32 * KiB,
    l2_bytes=1 * MiB,
    l3_bytes=32 * MiB,
    cache_line_bytes=64,
)


def pipeline() -> spaces.Pipeline:
    """A blur of bytes, by weights 1, 2, 1 along both axes."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    across, blur = Func("across"), Func("blur")
    across[x, y] = u16(image[x, y]) + 2 * u16(image[x + 1, y]) + u16(image[x + 2, y])
    blur[x, y] = u8((across[x, y] + 2 * across[x, y + 1] + across[x, y + 2]) / 16)
    return spaces.pipeline(blur, estimates={blur: [1920, 1080], image: [1922, 1082]})


def main() -> None:
    """Searches, writes the best schedule to a file, and reads it as a build would."""
    work = pipeline()
    few = Options(row_tiles=(32,), tiles=(32,))
    everything = spaces.ScheduleSpace(work, SERVER, few)
    stored = bytes_stored("across")
    frugal = spaces.ScheduleSpace(work, SERVER, few, where=[stored > 0, stored <= 32 * KiB])
    print(f"{frugal.count()} of {everything.count()} schedules store at most 32 KiB of across")
    found = spaces.best(spaces.search(frugal)).best[0]
    print(spaces.format_schedule(found.schedule, work))

    file = Path("blur.sched")
    file.write_text(spaces.format_schedule(found.schedule, work) + "\n")
    again = spaces.parse_schedule(file.read_text(), work)
    print("read from the file:", spaces.verify(work, again, SERVER))


if __name__ == "__main__":
    main()
