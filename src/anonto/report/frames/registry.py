"""The frames by name: our own, and those that other packages bring.

Another package brings a frame by an entry point of the group ``anonto.frames`` that names a class like ours.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anonto.errors import ParameterError
from anonto.report.frames.edpb_01_2025 import Edpb012025
from anonto.report.frames.ema_0070 import Ema0070
from anonto.report.frames.frame import LegalFrame
from anonto.report.frames.health_canada import HealthCanada
from anonto.report.frames.hipaa_expert import HipaaExpert
from anonto.report.frames.hipaa_safe_harbor import HipaaSafeHarbor
from anonto.report.frames.iso_27559 import Iso27559
from anonto.report.frames.wp29 import WP29
from anonto.runtime.plugins import load_plugins
from anonto.wording import did_you_mean, list_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

GROUP = "anonto.frames"
OWN: tuple[LegalFrame, ...] = (
    WP29(),
    Ema0070(),
    HealthCanada(),
    HipaaSafeHarbor(),
    HipaaExpert(),
    Iso27559(),
    Edpb012025(),
)


@cache
def frames() -> Mapping[str, LegalFrame]:
    """The frames by name, in their order; those of installed packages come last."""
    others = load_plugins(GROUP, "frame", _fault)
    return MappingProxyType({one.name: one for one in (*OWN, *(frame() for frame in others.values()))})


def _fault(_: str, frame: Any, found: Mapping[str, Any]) -> str | None:
    """Why a class cannot be a frame; None if it can."""
    if not (isinstance(frame, type) and issubclass(frame, LegalFrame)):
        return "it is not a class that derives from LegalFrame"
    own = frame().name
    if own in {one.name for one in OWN} or any(one().name == own for one in found.values()):
        return f"there is a frame named {own!r} already"
    return None


def frames_named(names: Iterable[str] | str) -> list[LegalFrame]:
    """Frames by their names, each once; several names may stand in one text, separated by commas."""
    given = [names] if isinstance(names, str) else list(names)
    asked = [part.strip() if isinstance(one, str) else one for one in given for part in str(one).split(",")]
    known = frames()
    for name in asked:
        if name not in known:
            raise unknown_frame(name, list(known))
    return [known[name] for name in dict.fromkeys(asked)]


def limit_named(given: str) -> float:
    """A limit to risk: a number as a text, or the name of a frame that has a threshold."""
    presets = {name: one.max_risk for name, one in frames().items() if one.max_risk is not None}
    if given.strip() in presets:
        return presets[given.strip()]
    try:
        return float(given)
    except ValueError:
        raise unknown_limit(given, list(presets)) from None


def unknown_frame(name: str, known: Collection[str]) -> ParameterError:
    """A frame that does not exist."""
    return ParameterError(f"frame{did_you_mean(name, known)}", f"one of {list_names(known)}", name)


def unknown_limit(given: str, known: Collection[str]) -> ParameterError:
    """A limit to risk that is neither a number nor the name of a threshold."""
    must = f"a number from 0 to 1, or one of {list_names(known)}{did_you_mean(given, known)}"
    return ParameterError("max_risk", must, given)
