"""Files for the commands under test."""

import pytest
from PIL import Image

from tests.apps.formulas import photograph


@pytest.fixture
def sched(tmp_path):
    def write(text):
        path = tmp_path / "given.sched"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "in.png"
    Image.fromarray(photograph(60, 90)).save(path)
    return path
