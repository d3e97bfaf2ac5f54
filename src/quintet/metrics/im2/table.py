"""IM2's rows in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry

_ROWS = {
    "im2-vup": ("classifiers:ValidUtterance", "Valid utterance prediction (IM2 VUP, from USL-H)"),
    "im2-lsc": ("classifiers:SelfConsistency", "Logical self-consistency of a response's pieces (IM2 LSC)"),
    "im2-nuf5": ("five_points:FiveNuf", "Natural, understandable, fluent on five points (IM2 5-NUF)"),
    "im2-grade": ("classifiers:TopicCoherence", "Coherence with the last two turns (IM2 GRADE)"),
    "im2-ab-ba": ("classifiers:RightOrder", "Turn and response in their order, not swapped (IM2 AB-BA)"),
    "im2-ab-ac": ("classifiers:TrueResponse", "The true response, not a similar one (IM2 AB-AC)"),
    "im2-dist": ("diversity:DistN", "Rarity of n-grams against a stored table (IM2 Dist-n)"),
    "im2-dmlm": ("specificity:DialogueMlm", "Masked likelihood of the response alone (IM2 D-MLM)"),
    "im2-ies5": ("five_points:FiveIes", "Interesting, engaging, specific on five points (IM2 5-IES)"),
    "im2-nuf": ("categories:Nuf", "IM2's category natural, understandable, fluent"),
    "im2-cr": ("categories:Cr", "IM2's category coherent and relevant"),
    "im2-ies": ("categories:Ies", "IM2's category interesting, engaging, specific"),
    "im2": ("categories:Im2", "IM2 overall, or the category of a named quality (SELECTIVE)"),
}


def register(registry: Registry) -> None:
    for name, (target, summary) in _ROWS.items():
        registry.add(name, f"quintet.metrics.im2.{target}", summary)
    registry.add(
        "im2-competition",
        "quintet.metrics.im2.categories:Im2",
        "IM2 as entered in DSTC10: VUP, GRADE, AB-BA and D-MLM",
        weights="im2/competition",
    )
