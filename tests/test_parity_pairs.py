"""Every kind of source copied to every kind of target, by all five functions."""

import pytest
from support.cases import pairs
from support.parity import assert_parity


@pytest.mark.parametrize("case", pairs(), ids=lambda case: case.name)
def test_pair(arena, case):
    """Result, error and tree are shutil's."""
    assert_parity(arena, case)
