"""Names that documentation gave before still work, and warn."""

from __future__ import annotations

import pytest

from anonto.methods import flows, transitions
from anonto.methods.method import FORMER_NAMES
from anonto.methods.random_swap import RandomSwap


@pytest.mark.parametrize(("former", "now"), flows.FORMER.items())
def test_a_former_name_warns_and_gives_what_it_is_called_now(former: str, now: str) -> None:
    with pytest.warns(DeprecationWarning, match=now):
        assert getattr(flows, former) is getattr(transitions, now)


def test_another_name_is_not_found() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        flows.nothing  # noqa: B018


@pytest.mark.parametrize(("former", "now"), FORMER_NAMES.items())
def test_a_method_that_defines_a_former_name_warns_and_still_works(former: str, now: str) -> None:
    with pytest.warns(DeprecationWarning, match=now):
        plugin = type("Plugin", (RandomSwap,), {former: lambda *_: "known"})
    assert getattr(plugin(), now)(None) == "known"
    assert plugin.has_likelihood == (now == "likelihood")
