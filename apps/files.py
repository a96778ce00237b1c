"""Reads files, and writes them whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from spaces.apps.errors import CommandError, WrongUsage

ARRAY_SUFFIX = ".npy"

BYTE_ORDER_MARK = "\ufeff"
"""A mark that some editors write at the beginning of a text."""


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Lets ``write`` fill a file beside ``path``, and moves the complete file to ``path``.

    Raises:
        CommandError: the folder does not exist or cannot be written to.
    """
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
    except OSError as error:
        raise CommandError(f"Cannot write to {path}: {error.strerror}.") from None
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise CommandError(f"Cannot write to {path}: {error.strerror}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuses a file that the command cannot write, before any work.

    Raises:
        CommandError: the folder does not exist or cannot be written to.
    """
    if path.is_dir():
        raise CommandError(f"Cannot write to {path}: it is a folder.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise CommandError(f"Cannot write to {path}: {error.strerror}.") from None


def make_folder(folder: Path) -> None:
    """Makes a folder if it does not exist, and checks that it takes files.

    Raises:
        CommandError: the folder cannot be made or cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"Cannot make the folder {folder}: {error.strerror}.") from None
    check_writable(folder / "x")


def _umask() -> int:
    """The permissions that new files do not get; only setting them returns them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Writes a whole text file, or nothing."""
    write_atomically(path, lambda temporary: _put(temporary, text.encode()))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a whole binary file, or nothing."""
    write_atomically(path, lambda temporary: _put(temporary, content))


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def is_there(path: Path, kind: Callable[[Path], bool] = Path.exists) -> bool:
    """Whether the file exists; False if the system refuses its name."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def read_text(path: Path, what: str, most: int) -> str:
    """The text of a file.

    Args:
        path: the file.
        what: what the file holds, such as "schedule", for messages.
        most: the largest number of characters; a longer text returns with one more.

    Raises:
        WrongUsage: the file does not exist, or is not text.
    """
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(most + 1).removeprefix(BYTE_ORDER_MARK)
    except OSError as error:
        raise WrongUsage(f"Cannot read the {what} {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise WrongUsage(f"The {what} {path} is not a text file.") from None


def read_photograph(path: Path) -> NDArray[np.uint8]:
    """The pixels of an image file as 8-bit RGB, indexed [y, x, channel].

    Raises:
        WrongUsage: the file does not exist, or is not a picture.
    """
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except UnidentifiedImageError:
        raise WrongUsage(f"{path} is not a picture in a format that Pillow reads.") from None
    except (OSError, Image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WrongUsage(f"Cannot read the picture {path}: {reason}.") from None


def read_array(path: Path) -> NDArray[np.generic]:
    """The array of a ``.npy`` file.

    Raises:
        WrongUsage: the file does not exist, or does not hold one plain array.
    """
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise WrongUsage(f"Cannot read the array {path}: {error.strerror or error}.") from None
    except (ValueError, EOFError):
        raise WrongUsage(f"{path} does not hold a plain NumPy array.") from None
    if not isinstance(array, np.ndarray):
        raise WrongUsage(f"{path} holds several arrays; give a .npy file, which holds one.")
    return array


def check_writable_picture(path: Path) -> None:
    """Refuses a file name that fits no picture, before any work.

    Raises:
        WrongUsage: the suffix is neither ``.npy`` nor a format that Pillow writes.
    """
    Image.init()
    suffix = path.suffix.lower()
    if suffix != ARRAY_SUFFIX and Image.EXTENSION.get(suffix) not in Image.SAVE:
        raise WrongUsage(
            f"Cannot write {path}: its ending {suffix or '(none)'} is not a picture format; "
            "use .png, .jpg or .npy."
        )
    if not path.parent.is_dir():
        raise WrongUsage(f"Cannot write {path}: there is no folder {path.parent}.")
    check_writable(path)


def write_picture(path: Path, picture: NDArray[np.uint8]) -> None:
    """Saves pixels indexed [y, x] (gray) or [y, x, channel] in the format of the suffix."""
    write_atomically(path, lambda temporary: Image.fromarray(picture).save(temporary))


def write_array(path: Path, array: NDArray[np.generic]) -> None:
    """Saves an array as ``.npy``."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.save(file, array)

    write_atomically(path, write)
