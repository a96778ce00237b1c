"""Large files are read, or refused in a sentence, soon and in little memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from attrs import evolve

from spaces import HalideFileError, HalideImportError, read_hlpipe
from spaces.backend.halide.file import contents as file
from spaces.backend.halide.file.decoding import MOST_BYTES, MOST_TABLES, decode
from spaces.backend.halide.file.flat_buffer import MOST_CHARACTERS, MOST_ELEMENTS
from tests.draw_counts import some
from tests.halide_programs.encoding import encoded
from tests.halide_programs.hostile import MEGABYTES, SECONDS, ending
from tests.halide_programs.largest import (
    SHAPES,
    contents,
    fullest,
    func,
    int32,
    long_names,
    parts,
    unread_dimensions,
    variable,
)
from tests.halide_programs.test_damaged_files import FACTORED, FILE

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("original", [FILE, FACTORED], ids=["blur", "factored"])
def test_records_become_a_file_that_is_read_as_they_are(original: Path) -> None:
    read = decode(original.read_bytes())
    made = encoded(read)
    assert encoded(decode(made)) == made
    assert read_hlpipe(made) == read_hlpipe(original)


@pytest.mark.parametrize("shape", some(SHAPES))
def test_large_files_are_read_soon(shape: str) -> None:
    """Half as many parts as a file may have: a busy machine takes twice as long.
    ``python -m tests.halide_programs.measure_largest`` measures the whole.
    """
    most = MOST_TABLES // 2
    large = fullest(SHAPES[shape], most)
    assert parts(large) <= most < 1.5 * parts(large)
    data = encoded(large)
    began = time.process_time()
    end = ending(data)
    assert time.process_time() - began < SECONDS
    assert end == ("read" if shape in READ else "HalideImportError")


READ = {
    *("nested", "wide", "shared", "chain", "rooted", "fan", "outputs", "updates", "reductions"),
    *("values", "images", "params", "requirements", "prefetches", "specializations", "splits"),
    *("long names",),
}
"""The shapes of pipelines that Halide may write. The others have unknown parts, or more loops,
wrappers or foreign code than can come in.
"""


def test_reading_large_files_takes_little_memory(tmp_path: Path) -> None:
    """An array of as many bytes as a file may have, and names as long as they may be."""
    array = file.BufferTable(
        True, "table", int32(), 1, (file.BufferDimensionTable(0, 1, 1),), bytes(MOST_BYTES - 4096)
    )
    held = contents([func("out", ["x"], [variable("x")])], buffers=[array])
    made = {"array": held, "names": fullest(lambda n: long_names(n, MOST_CHARACTERS))}
    for name, one in made.items():
        (tmp_path / name).write_bytes(encoded(one))
    code = """
import resource, sys
from tests.halide_programs.hostile import ending, megabytes
before = megabytes()
ending(open(sys.argv[1], "rb").read())
print(megabytes() - before)
"""
    for name in made:
        run = [sys.executable, "-c", code, str(tmp_path / name)]
        done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
        assert float(done.stdout) < MEGABYTES, name


def test_lists_names_and_files_have_limits() -> None:
    begin = encoded(unread_dimensions(MOST_ELEMENTS // 2))
    assert ending(begin) == "HalideImportError"
    with pytest.raises(HalideFileError, match="lists of the file have more than 131072 elements"):
        read_hlpipe(encoded(unread_dimensions(MOST_ELEMENTS)))
    with pytest.raises(HalideFileError, match="a name or message of 1025 bytes; 1024 is the most"):
        read_hlpipe(encoded(long_names(2, MOST_CHARACTERS + 1)))
    with pytest.raises(HalideFileError, match="has 67108865 bytes; a pipeline has 67108864"):
        read_hlpipe(bytes(MOST_BYTES + 1))


def test_names_with_large_numbers() -> None:
    """Python reads numbers of some thousands of digits; more are an error of another kind."""
    digits = "1" * (MOST_CHARACTERS - 8)
    named = func(f"f${digits}", ["x"], [variable("x")])
    assert read_hlpipe(encoded(contents([named], [named.name]))).pipeline.name == "f"
    size = evolve(variable(f"p.min.{digits}"), param_name="p")
    with pytest.raises(HalideImportError, match="is the size of no image and no output"):
        read_hlpipe(encoded(contents([func("out", ["x"], [size])])))
