"""The lines that a process writes, as they come, with limits of time."""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

_SHOWN = 300
"""The most characters of an error that a result has room for."""


REFUSED = 3
"""The exit status of a process that can do nothing, and says why in a sentence."""


class Died(Exception):
    """A process ended in an error, or was stopped; ``str`` says why."""


def lines(command: Sequence[str], silent: float, end: float) -> Iterator[dict[str, Any]]:
    """The JSON objects that a process writes, each on a line.

    Args:
        command: starts it.
        silent: seconds without a line after which it is stopped.
        end: when it is stopped in any case, by the monotonic clock.

    Raises:
        Died: it was stopped, or its exit status is not 0.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        written: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process.stdout, written), daemon=True)
        reader.start()
        try:
            while True:
                try:
                    line = written.get(timeout=max(min(silent, end - time.monotonic()), 0.01))
                except queue.Empty:
                    over = time.monotonic() >= end
                    why = "there was no time left" if over else f"no answer in {silent:.0f} s"
                    raise Died(why) from None
                if line is None:
                    break
                yield json.loads(line)
            if process.wait():
                errors.seek(0)
                raise Died(_last_words(errors.read(), process.returncode))
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()


def _read(stream: TextIO, written: queue.Queue[str | None]) -> None:
    for line in stream:
        written.put(line)
    written.put(None)


def _last_words(errors: str, status: int) -> str:
    said = errors.strip().splitlines()[-1:] or [""]
    if status == REFUSED:
        return said[0][:_SHOWN]
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    return f"its process ended with {how}: {said[0]}"[:_SHOWN]
