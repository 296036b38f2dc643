"""The stepping example: the lanes that it shows are those that still have a way to go."""

import pytest


@pytest.mark.parametrize("device", ["vega64", "hd6970"])
def test_masks_are_those_of_the_numbers_that_are_not_done(example, capsys, device):
    masks = example.main(["--device", device])
    ways = [example.steps_of(number) for number in range(1, 65)]
    assert len(masks) == max(ways) == 112
    assert masks == [sum(1 << lane for lane, way in enumerate(ways) if way > turn) for turn in range(112)]
    said = capsys.readouterr().out
    assert "the longest way is that of 54: 112" in said
    assert "lane 54 is among the last" in said or "lane 53 is among the last" in said
