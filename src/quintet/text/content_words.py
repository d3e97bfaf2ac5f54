"""Words as the bundled evaluator counts them, and which of them carry content. English, lower case."""

from __future__ import annotations

import re

# English stop words, frozen: the 179 words that NLTK shipped from 2017 to 2021, on which published scores depend.
#
# NLTK's list has grown since, so it is not read from there. Origin: the Snowball project's English list (BSD licence),
# distributed by PostgreSQL and by NLTK data, which added the contractions.


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


ENGLISH: frozenset[str] = _words("""
    i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his
    himself she she's her hers herself it it's its itself they them their theirs themselves what which who whom this
    that that'll these those am is are was were be been being have has had having do does did doing a an the and but
    if or because as until while of at by for with about against between into through during before after above below
    to from up down in out on off over under again further then once here there when where why how all any both each
    few more most other some such no nor not only own same so than too very s t can will just don don't should
    should've now d ll m o re ve y ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't
    haven haven't isn isn't ma mightn mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't
    weren weren't won won't wouldn wouldn't
""")


SPACY: frozenset[str] = _words("""
    a about above across after afterwards again against all almost alone along already also although always am
    among amongst amount an and another any anyhow anyone anything anyway anywhere are around as at back be
    became because become becomes becoming been before beforehand behind being below beside besides between
    beyond both bottom but by call can cannot ca could did do does doing done down due during each eight either
    eleven else elsewhere empty enough even ever every everyone everything everywhere except few fifteen fifty
    first five for former formerly forty four from front full further get give go had has have he hence her here
    hereafter hereby herein hereupon hers herself him himself his how however hundred i if in indeed into is it
    its itself keep last latter latterly least less just made make many may me meanwhile might mine more
    moreover most mostly move much must my myself name namely neither never nevertheless next nine no nobody
    none noone nor not nothing now nowhere of off often on once one only onto or other others otherwise our ours
    ourselves out over own part per perhaps please put quite rather re really regarding same say see seem seemed
    seeming seems serious several she should show side since six sixty so some somehow someone something
    sometime sometimes somewhere still such take ten than that the their them themselves then thence there
    thereafter thereby therefore therein thereupon these they third this those though three through throughout
    thru thus to together too top toward towards twelve twenty two under until up unless upon us used using
    various very via was we well were what whatever when whence whenever where whereafter whereas whereby
    wherein whereupon wherever whether which while whither who whoever whole whom whose why will with within
    without would yet you your yours yourself yourselves
""")
"""The words of letters among spaCy 2's 326 English stop words (MIT licence); the other 21 are torn-off clitics."""


def is_stopword(token: str) -> bool:
    """Looked up stripped and lower-cased: tokens of byte-level tokenizers carry their space with them."""
    return token.strip().lower() in ENGLISH


_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")

_STOP = """
    a about above after again against all am an and any are aren't as at be because been before being below between
    both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from
    further had hadn't has hasn't have haven't having he her here hers herself him himself his how i i'd i'll i'm i've
    if in into is isn't it it's its itself just let's me more most my myself no nor not now of off on once only or
    other ought our ours ourselves out over own same she should shouldn't so some such than that that's the their
    theirs them themselves then there there's these they they're this those through to too under until up very was
    wasn't we were weren't what what's when where which while who whom why will with won't would wouldn't you you're
    your yours yourself yourselves s t d ll re ve m n't oh um yeah yes ok okay well really think like know get got one
    also
    """
STOP = frozenset(_STOP.split())
"""Function words and the small change of conversation."""


def plain_words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def is_content(word: str) -> bool:
    return word not in STOP and len(word) > 1


def content_words(text: str) -> list[str]:
    return [word for word in plain_words(text) if is_content(word)]
