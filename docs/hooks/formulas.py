r"""Formulas as MathML, made when the pages are built: browsers show it without any script.

The Markdown extension arithmatex marks formulas, in pages and in docstrings alike, as ``\(…\)`` in a span and
``\[…\]`` in a div; here each is replaced by its MathML.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from latex2mathml.converter import convert

if TYPE_CHECKING:
    from typing import Any

_MARKED = re.compile(
    r'<span class="arithmatex">\\\((?P<inline>.*?)\\\)</span>'
    r'|<div class="arithmatex">\s*\\\[(?P<block>.*?)\\\]\s*</div>',
    re.DOTALL,
)
_WORD = re.compile(r"\\(?:text|mathrm)\{[^{}]*\}|\\[A-Za-z]+|[A-Za-z]{3,}|IC|sd")
_UNKNOWN_COMMANDS = {r"\arg": r"\text{arg}\,", r"\lca": r"\text{lca}"}
_LOG_OF_A_PRODUCT = re.compile(r"<mi>log</mi>(?=<m[in]>)")
_FUNCTION_NAME = re.compile(r"<mo>([a-z]{3})</mo>")


def on_page_content(content: str, **_: Any) -> str:
    """Replace every marked formula of a page."""
    return _MARKED.sub(_mathml, content)


def _mathml(marked: re.Match[str]) -> str:
    if marked["inline"] is not None:
        return to_mathml(html.unescape(marked["inline"]), display="inline")
    return f'<div class="formula">{to_mathml(html.unescape(marked["block"]), display="block")}</div>'


def to_mathml(formula: str, display: str) -> str:
    """MathML of a formula in LaTeX, with words upright and functions close to their arguments."""
    mathml: str = convert(_WORD.sub(_upright, formula.strip()), display=display)
    mathml = _FUNCTION_NAME.sub(r'<mo lspace="0" rspace="0.12em">\1</mo>', mathml)
    return _LOG_OF_A_PRODUCT.sub(r'\g<0><mspace width="0.167em"/>', mathml)


def _upright(found: re.Match[str]) -> str:
    word = found.group()
    if word.startswith("\\"):
        return _UNKNOWN_COMMANDS.get(word, word)
    return rf"\text{{{word}}}"
