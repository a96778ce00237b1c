"""Files are written whole or not at all; a sentence reports an unreadable file."""

import numpy as np
import pytest
from PIL import Image

from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.files import (
    check_writable_picture,
    read_array,
    read_photograph,
    read_text,
    write_array,
    write_atomically,
    write_picture,
    write_text,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def fail_halfway(temporary):
        temporary.write_text("half")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        write_atomically(path, fail_halfway)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["kept.txt"]


def test_a_written_file_has_ordinary_permissions_and_no_companions(tmp_path):
    write_text(tmp_path / "a.txt", "new")
    (tmp_path / "b.txt").write_text("plain")
    assert names(tmp_path) == ["a.txt", "b.txt"]
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(CommandError, match=r"Cannot write to .*gone/a\.txt: No such file"):
        write_text(tmp_path / "gone" / "a.txt", "")


def test_pictures_and_arrays_come_back(tmp_path):
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    write_picture(tmp_path / "p.png", pixels)
    np.testing.assert_array_equal(read_photograph(tmp_path / "p.png"), pixels)
    values = np.array([[1.5, -2]], np.float32)
    write_array(tmp_path / "a.npy", values)
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy"), values)


def test_gray_and_palette_pictures_are_read_as_rgb(tmp_path):
    Image.new("L", (3, 2), 7).save(tmp_path / "gray.png")
    assert read_photograph(tmp_path / "gray.png").tolist() == [[[7, 7, 7]] * 3] * 2
    Image.new("P", (3, 2)).save(tmp_path / "palette.png")
    assert read_photograph(tmp_path / "palette.png").shape == (2, 3, 3)


def test_what_is_no_picture_is_said_so(tmp_path):
    (tmp_path / "text.png").write_text("hello")
    with pytest.raises(WrongUsage, match=r"text\.png is not a picture"):
        read_photograph(tmp_path / "text.png")
    with pytest.raises(WrongUsage, match=r"Cannot read the picture .*gone\.png: No such file"):
        read_photograph(tmp_path / "gone.png")
    Image.new("RGB", (64, 64)).save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:60])
    with pytest.raises(WrongUsage, match=r"cut\.png"):
        read_photograph(tmp_path / "cut.png")


def test_what_is_no_array_is_said_so(tmp_path):
    (tmp_path / "text.npy").write_text("hello")
    with pytest.raises(WrongUsage, match="does not hold a plain NumPy array"):
        read_array(tmp_path / "text.npy")
    (tmp_path / "empty.npy").write_bytes(b"")
    with pytest.raises(WrongUsage, match="does not hold a plain NumPy array"):
        read_array(tmp_path / "empty.npy")
    np.savez(tmp_path / "many.npz", a=np.zeros(1), b=np.zeros(1))
    with pytest.raises(WrongUsage, match="holds several arrays"):
        read_array(tmp_path / "many.npz")


def test_a_binary_file_is_no_text(tmp_path):
    (tmp_path / "a.sched").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WrongUsage, match=r"The schedule .*a\.sched is not a text file"):
        read_text(tmp_path / "a.sched", "schedule", 100)


def test_a_name_that_no_picture_can_have_is_refused_before_any_work(tmp_path):
    check_writable_picture(tmp_path / "a.PNG")
    check_writable_picture(tmp_path / "a.npy")
    with pytest.raises(WrongUsage, match=r"ending \.txt is not a picture format"):
        check_writable_picture(tmp_path / "a.txt")
    with pytest.raises(WrongUsage, match="there is no folder"):
        check_writable_picture(tmp_path / "gone" / "a.png")
