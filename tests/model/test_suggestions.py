"""Names that a mistyped one may have been meant for."""

import pytest

from spaces import cost_model, device, search
from spaces.apps.pipelines import blur
from spaces.model.suggestions import suggestion
from tests.cpus import FOUR_CORES
from tests.small_space import small_space

SPACE = small_space(blur.pipeline(), FOUR_CORES)
FRUIT = ("apple", "apricot", "grape", "banana")


def test_the_nearest_names_come_first_and_none_where_none_is_near():
    assert suggestion("aple", FRUIT) == " (is apple meant?)"
    assert suggestion("aple", FRUIT, most=3) == " (is apple or grape meant?)"
    assert suggestion("aple", (*FRUIT, "ample"), most=3).count(",") == 1
    assert suggestion("quince", FRUIT) == ""
    assert suggestion("aple", ()) == ""


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda: device("sm80"), r"'sm80' \(is sm_80, "),
        (lambda: cost_model("reus", FOUR_CORES), r"'reus' \(is reuse meant\?\)"),
        (lambda: search(SPACE, "reuse", "stagwise"), r"'stagwise' \(is stagewise meant\?\)"),
    ],
)
def test_what_a_name_is_looked_up_in_suggests_one(asked, said):
    with pytest.raises(ValueError, match=said):
        asked()
