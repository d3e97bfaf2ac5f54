"""Whether a text declines to answer: "the document does not say", "I don't know". English, rules, no model."""

from __future__ import annotations

import re

from quintet.text.sentences import sentences

LONGEST = 600
"""Characters; who declines to answer is brief."""

_NOT = r"(?:n['’]t|\ not)"
_SOURCE = r"""(?:\w+\ ){0,4}?(?:documents?|texts?|contexts?|passages?|sources?|articles?|reports?|records?|information
    |minutes|notes?|page|paper|story|author|writer|excerpts?|snippets?|material|account|announcement|description|it
    |they|data)"""
_SAYS = r"""(?:say|state|mention|specify|provide|contain|include|give|indicate|disclose|tell|reveal|name|address|cover
    |explain|answer|describe|report|discuss|record|make\ (?:it\ )?clear|offer|go\ into|list|refer|speak|note|touch)"""
_SAID = r"""(?:mentioned|stated|given|specified|provided|known|named|included|disclosed|said|clear|available|recorded
    |reported|explained|described|answered|told|covered|listed|discussed|revealed|indicated|addressed|spelled\ out)"""
_THING = r"""(?:information|mention|details?|data|indication|word|answer|evidence|reason|names?|figure|date|number
    |price|explanation)s?"""
_WHAT = r"(?:what|who|why|how|when|where|which|whether)"
_STOPS = r"(?=\s*(?:[.;!]|$)"

_DECLINES = tuple(
    re.compile(pattern, re.IGNORECASE | re.VERBOSE)
    for pattern in (
        # The text does not say.
        rf"\b{_SOURCE}\b[^.,;]{{0,40}}?\b(?:do|does|did|has|have|had){_NOT}\b(?:\ \w+ly|\ even|\ really)?\ {_SAYS}",
        rf"\b{_SOURCE}\b[^.,;]{{0,30}}?\b(?:is|are|was|were)(?:\ silent|{_NOT}\ clear|{_NOT}\ specific)\b",
        rf"\b{_SOURCE}\b\ (?:says?|gives?|contains?|mentions?|offers?|provides?|has)\ (?:nothing|no|nobody|none)\b",
        rf"""^\W*(?:the\ \w+|he|she|they|it)\ (?:do|does|did){_NOT}\ (?:\w+ly\ )?
            (?:say|mention|state|specify|tell|reveal|explain|cover|let\ us\ know|disclose)
            {_STOPS}|\ (?:{_WHAT}|that|this|it|us|any)\b)""",
        r"^\W*(?:the\ \w+|he|she|they)\ (?:gives?|offers?|mentions?|names?|contains?)\ no\ \w+",
        rf"^\W*(?:the\ \w+|he|she|they|it)\ (?:do|does|did){_NOT}\ (?:give|offer|name)\ (?:any|an?|that|this|the|it)\b",
        # It is not said.
        rf"""\b(?:is|are|was|were|has|have){_NOT}(?:\ been)?(?:\ \w+ly)?\ {_SAID}\b
            {_STOPS}|\ (?:in|by|here|anywhere|from|to\ us|at\ all|or|and|if|{_WHAT})\b)""",
        rf"""^\W*no(?:\ \w+){{1,3}}\ (?:is|are|was|were|ha[sv]e?\ been|can\ be)
            \ (?:{_SAID}|announced|gathered|found|made)\b""",
        rf"\b(?:is|are|was|were)\ (?:nowhere|never)\ (?:\w+ly\ )?{_SAID}",
        rf"""\bno(?:\ \w+)?\ {_THING}\b(?:\ \w+){{0,6}}?\ (?:is|are|was|were|has\ been|have\ been)?\s*
            (?:given|provided|available|found|mentioned|stated|about|on|in|as\ to|of)\b""",
        rf"""\bthere(?:['’]s|\ is|\ are|\ was|\ were)\ no(?:t\ any|t\ enough|thing)?(?:\ \w+)?\ (?:{_THING}|record|such
            |in\ the|about)\b""",
        rf"""\b(?:nothing|not\ a\ word)\ (?:\w+\ )?(?:is|was|about|on)
            \ (?:said|stated|mentioned|given|that|this|the|{_WHAT})""",
        r"\b(?:we|i|you)(?:\ are|['’]re|\ were)(?:n['’]t|\ not)\ (?:told|given)\b",
        r"\bnobody\ (?:says|has\ said|mentions)\b",
        # I do not know; it cannot be known.
        rf"""\b(?:i|we|one)\ (?:really\ |simply\ |honestly\ )?(?:do|does|could|can|would|am|are|['’]m|have)
            (?:{_NOT}|\ no|\ unable)\b[^.]{{0,25}}?
            (?:know|answer|find|determine|tell|say|sure|able|information|idea|provide|see|have|locate)""",
        r"\b(?:i|we)(?:\ am|['’]m|\ are|['’]re)\ (?:unable|not\ able|not\ sure|unsure|not\ certain)\b",
        r"\b(?:i|we)\ cannot\ (?:\w+\ )?(?:know|answer|find|determine|tell|say|provide|see|locate|confirm)",
        rf"""\b(?:cannot|can{_NOT}|could{_NOT})\ be\ (?:\w+ly\ )?
            (?:determined|answered|found|known|inferred|established|told|said)""",
        r"\b(?:impossible|not\ possible)\ to\ (?:\w+ly\ )?(?:determine|answer|know|say|tell)\b",
        rf"\b(?:cannot|can{_NOT})\ (?:tell|say|know)\ from\b",
        r"\b(?:not\ enough|insufficient|lacks?|too\ little)\ (?:information|context|details?|data)\b",
        # Unknown.
        r"""^\W*(?:it(?:['’]s|\ is)\ |that(?:['’]s|\ is)\ )?(?:unknown|unclear|n/?a|unanswerable|no\ answer|no\ idea
            |left\ open|not\ (?:known|stated|given|mentioned|specified|said|clear|sure))\W*$""",
        r"\b(?:is|are|remains?|stays?)\ (?:unknown|unclear|unstated|unspecified|unnamed|left\ open|left\ out)\b",
        r"\b(?:leaves?|left)\ (?:that|this|it|the\ \w+)\ (?:open|out|unsaid|unanswered)\b",
        r"\b(?:left|goes|went|remains)\ un(?:explained|said|mentioned|answered|stated|named|specified)\b",
    )
)
_COURTESY = re.compile(
    r"""^\W*(?:i(?:['’]m|\ am)\ (?:\w+\ )?sorry|sorry|apologies|unfortunately|please|let\ me\ know|if\ you
        |you\ (?:may|might|could|can)|would\ you|could\ you|i(?:['’]d|\ would)\ (?:recommend|suggest|be)|feel\ free|hmm
        |well)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def abstains(text: str) -> bool:
    """Whether one sentence declines to answer and all others do too or are mere courtesy."""
    if len(text) > LONGEST:
        return False
    parts = [piece.text for piece in sentences(text, "line")]
    declined = [any(pattern.search(part) for pattern in _DECLINES) for part in parts]
    return any(declined) and all(no or _COURTESY.match(part) for no, part in zip(declined, parts, strict=True))
