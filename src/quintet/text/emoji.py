"""Emoji in running text: pictures with their variations, skin tones, joiners and flags."""

from __future__ import annotations

import re

_PICTURES = (
    "\U0001f000-\U0001faff"
    "\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u2b1b\u2b1c\u2b50\u2b55"
    # Of the miscellaneous symbols and dingbats those that Unicode calls emoji: stars, ticks and bullets are text.
    "\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640"
    "\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0"
    "\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea"
    "\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734"
    "\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf"
)
_AFTER = "\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
"""Variation selectors, the frame of a key, skin tones and the letters of a region's flag."""
# What a selector follows was meant as a picture, unless it is a digit or letter: those stay, and lose their frame.
EMOJI = re.compile(
    rf"(?:(?:[{_PICTURES}]|[^\w\s#*\ufe0e\ufe0f](?=\ufe0f))[{_AFTER}]*(?:\u200d(?=[{_PICTURES}])|))+|[{_AFTER}]+"
)
