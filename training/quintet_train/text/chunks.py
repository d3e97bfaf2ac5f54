"""A small rule-based tagger and chunker for English: enough to mask phrases and to prune them, no model needed.

The tree is only constituency-like: words, then noun, prepositional and verb phrases, then the sentence. A real parser
can be put in its place: anything that maps the words of a sentence to a `Phrase` (a `Parser`) will do, for example
benepar as CTC used it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quintet.text import tokens


def _word_list(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS = _word_list(
    """
    a an the this that these those my your his her its our their some any no every each
    """
)
PREPOSITIONS = _word_list(
    """
    about above across after against along among around as at before behind below beneath beside between beyond by
    despite down during except for from in inside into like near of off on onto out outside over past since than
    through throughout till to toward towards under until up upon with within without because although though while
    whereas unless if whether
    """
)
PRONOUNS = _word_list(
    """
    i you he she it we they me him us them who whom what which myself yourself himself herself itself ourselves
    themselves someone anyone everyone nobody something anything everything nothing there
    """
)
CONJUNCTIONS = _word_list(
    """
    and or but nor so yet
    """
)
AUXILIARIES = _word_list(
    """
    am is are was were be been being has have had having do does did can could may might must shall should will would
    's 're 've 'll 'd 'm
    """
)
ADVERBS = _word_list(
    """
    not n't never always often very too also just only even still already again here now then soon how when where why
    more most less least quite rather almost well
    """
)
COMMON_VERBS = _word_list(
    """
    say says said get gets got make makes made go goes went gone know knows knew known take takes took taken see sees
    saw seen come comes came think thinks thought look looks want wants give gives gave given use uses find finds
    found tell tells told ask asks work works seem seems feel feels felt try tries leave leaves left call calls keep
    keeps kept let lets begin begins began begun show shows shown hear hears heard play plays run runs ran move moves
    like likes live lives believe hold holds held bring brings brought happen happens write writes wrote written sit
    sits sat stand stands stood lose loses lost pay pays paid meet meets met include includes continue set sets learn
    learns lead leads led understand understood watch watches follow follows stop stops speak speaks spoke spoken read
    reads allow add adds spend spends spent grow grows grew grown open opens walk walks win wins won offer offers
    remember love loves consider appear appears buy buys bought wait waits serve serves die dies send sends sent
    expect build builds built stay stays fall falls fell fallen cut cuts reach reaches kill kills remain remains eat
    eats ate eaten sell sells sold need needs become becomes became put puts mean means meant turn turns start starts
    help helps talk talks
    """
)
CLOSED_CLASSES = DETERMINERS | PREPOSITIONS | PRONOUNS | CONJUNCTIONS | AUXILIARIES | ADVERBS
_ADJECTIVE = re.compile(r".{3,}(?:ous|ful|less|ive|able|ible|ical|ish|al|ic|est|ent|ant|ary)$")


@dataclass(frozen=True)
class Phrase:
    """Words `start` to `end` (exclusive) and the phrases inside; a leaf is one word."""

    start: int
    end: int
    children: tuple[Phrase, ...] = ()
    kind: str = "W"

    @property
    def height(self) -> int:
        return 1 + max(child.height for child in self.children) if self.children else 0


Parser = Callable[[Sequence[str]], Phrase]


def split_words(text: str) -> list[str]:
    """Words, numbers and single punctuation marks, in order; nothing but white space is lost."""
    return [piece.text for piece in tokens.words(text, punctuation=True)]


def join_words(words: Sequence[str]) -> str:
    """The usual spacing again: no blank before closing marks or after opening ones."""
    text = " ".join(words)
    text = re.sub(r" ([.,;:!?%)\]}”])", r"\1", text)
    return re.sub(r"([(\[{“$£#]) ", r"\1", text)


def tag(words: Sequence[str]) -> list[str]:
    """A coarse Penn tag for each word, from closed classes, endings and the word before."""
    tags: list[str] = []
    for index, word in enumerate(words):
        tags.append(_tag_one(word, tags[-1] if tags else "", index))
    return tags


def _tag_one(word: str, before: str, index: int) -> str:
    low = word.lower()
    if not any(character.isalnum() for character in word):
        return "."
    for names, label in ((DETERMINERS, "DT"), (AUXILIARIES, "VBZ"), (PREPOSITIONS, "IN"), (PRONOUNS, "PRP"),
                         (CONJUNCTIONS, "CC"), (ADVERBS, "RB")):  # fmt: skip
        if low in names:
            return label
    if low[0].isdigit():
        return "CD"
    if word[0].isupper() and index > 0:
        return "NNP"
    if low in COMMON_VERBS and before not in ("DT", "JJ"):
        return "VB"
    if low.endswith("ly"):
        return "RB"
    if low.endswith("ing") and len(low) > 4:
        return "NN" if before in ("DT", "JJ") else "VBG"
    if low.endswith("ed") and len(low) > 3:
        return "JJ" if before == "DT" else "VBD"
    if _ADJECTIVE.match(low):
        return "JJ"
    return "NNS" if low.endswith("s") and not low.endswith("ss") else "NN"


def parse(words: Sequence[str]) -> Phrase:
    """The words of one sentence as a tree: words < noun phrases < prepositional and verb phrases < sentence."""
    tags = tag(words)
    leaves = [Phrase(i, i + 1) for i in range(len(words))]
    level = _noun_phrases(leaves, tags)
    level = _prepositional_phrases(level, tags)
    level = _verb_phrases(level, tags)
    return level[0] if len(level) == 1 and level[0].children else Phrase(0, len(words), tuple(level), "S")


def _group(parts: Sequence[Phrase], kind: str) -> Phrase:
    return Phrase(parts[0].start, parts[-1].end, tuple(parts), kind)


def _noun_phrases(leaves: Sequence[Phrase], tags: Sequence[str]) -> list[Phrase]:
    out: list[Phrase] = []
    run: list[Phrase] = []
    for leaf in [*leaves, None]:
        inside = leaf is not None and tags[leaf.start] in ("DT", "JJ", "CD", "NN", "NNS", "NNP")
        fresh = leaf is not None and tags[leaf.start] == "DT" and bool(run)
        if run and (not inside or fresh):
            out.append(_group(run, "NP") if len(run) > 1 else Phrase(run[0].start, run[0].end, (), "NP"))
            run = []
        if leaf is not None:
            if inside:
                run.append(leaf)
            else:
                out.append(leaf)
    return out


def _prepositional_phrases(level: Sequence[Phrase], tags: Sequence[str]) -> list[Phrase]:
    out: list[Phrase] = []
    index = 0
    while index < len(level):
        part = level[index]
        if not part.children and tags[part.start] == "IN" and index + 1 < len(level) and level[index + 1].kind == "NP":
            out.append(_group(level[index : index + 2], "PP"))
            index += 2
        else:
            out.append(part)
            index += 1
    return out


def _verb_phrases(level: Sequence[Phrase], tags: Sequence[str]) -> list[Phrase]:
    out: list[Phrase] = []
    index = 0
    while index < len(level):
        end = index
        while end < len(level) and _is_verbal(level[end], tags):
            end += 1
        verbs = end
        while verbs > index and end < len(level) and level[end].kind in ("NP", "PP"):
            end += 1
        if end - index > 1 and verbs > index:
            out.append(_group(level[index:end], "VP"))
            index = end
        else:
            out.append(level[index])
            index += 1
    return out


def _is_verbal(part: Phrase, tags: Sequence[str]) -> bool:
    return not part.children and part.kind == "W" and tags[part.start] in ("VB", "VBZ", "VBD", "VBG", "RB")
