"""How long the largest files take: ``python -m tests.halide_programs.measure_largest [SHAPE ...]``.

Each shape has as many parts as a file may have, and a process of its own. The time is that of its
processor; the memory is what reading adds to the process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.halide_programs.encoding import encoded
from tests.halide_programs.hostile import ending, megabytes
from tests.halide_programs.largest import SHAPES, fullest, parts
from tests.halide_programs.test_damaged_files import FILE


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each shape."""
    if arguments[:1] == ["--read"]:
        _read(Path(arguments[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for shape in arguments or SHAPES:
            contents = fullest(SHAPES[shape])
            file = Path(folder) / "largest.hlpipe"
            file.write_bytes(encoded(contents))
            run = [sys.executable, "-m", __spec__.name, "--read", str(file)]
            said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
            print(f"{shape:18} {parts(contents)} parts, {file.stat().st_size} bytes: {said}")


def _read(file: Path) -> None:
    ending(FILE.read_bytes())  # loads all modules
    data, before, began = file.read_bytes(), megabytes(), time.process_time()
    end = ending(data)
    seconds = time.process_time() - began
    print(f"{seconds:.2f} s, {megabytes() - before:.0f} MB, {end}")


if __name__ == "__main__":
    main(sys.argv[1:])
