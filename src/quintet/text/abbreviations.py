"""English abbreviations that end in a period, and words that tell whether a sentence ended there. Lower case."""

from __future__ import annotations


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


BEFORE_NAME: frozenset[str] = _words("""
    mr mrs ms mx dr prof gen sen rep reps sens gov lt col sgt cpl pvt capt cmdr cdr adm maj brig rev hon fr st ste mt
    messrs mme mlle supt insp det pres amb sec treas dir atty
""")
"""Stand before a name: a sentence almost never ends here."""

BEFORE_NUMBER: frozenset[str] = _words("no nos fig figs eq eqs ch chap pp vol vols art ver approx ca")
"""Stand before a number: abbreviations only if one follows."""

INSIDE: frozenset[str] = frozenset(["e.g", "i.e", "vs", "cf", "viz", "al", "w.va", "ie", "eg"])
"""Stand in the middle of a sentence, whatever follows."""

ANYWHERE: frozenset[str] = _words("""
    inc corp co cos ltd llc plc bros jr sr esq etc ph.d m.d b.a m.a dept univ assn bldg ave blvd rd ln hwy apt est
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    ala ariz ark calif colo conn del fla ga ill ind kan ky la md mass mich minn miss mo mont neb nev okla ore pa tenn
    tex vt va wash wis wyo ont que penn ft yr yrs hr hrs min mins lb lbs oz mph km kg cm mm sq tel ext ed eds trans
    a.m p.m u.s u.k u.n u.s.a u.s.s.r d.c a.d b.c c.e e.u
""")
"""May also end a sentence: the next word decides."""

ALSO_WORDS: frozenset[str] = _words("""
    art ark ed est ext fig ga ill in ind la mar mass min mins miss mo no nos oz pa que sat sec sun wash wed mon
""")
"""Abbreviations that are ordinary words too, so that lower case before them says nothing."""

AFTER_TIME: frozenset[str] = _words("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december est edt et cst cdt ct mst mdt mt pst pdt pt gmt bst utc cet eastern pacific
    central local
""")
"""Follow `p.m.` within a sentence although capitalised."""

STARTERS: frozenset[str] = _words("""
    the a an this that these those he she it they we you i his her its their our my your there here who what when
    where why how which if although though while since because after before during despite until unless once as in on
    at for from with by to of under over among between within without but and or so yet nor however also then thus
    therefore moreover meanwhile nevertheless nonetheless instead still indeed similarly perhaps maybe now later today
    yesterday last next some many most both all each every several few more no not one two three another other such
    even just only according is are was were do does did can could will would should may might have has had let please
    yes i'm it's he's she's that's there's they're we're i've i'll don't didn't what's
""")
"""Capitalised after an abbreviation they open a sentence; names do not."""

SPEECH: frozenset[str] = _words("""
    said says say asked asks ask replied replies answered added adds told tells wrote writes shouted cried exclaimed
    whispered yelled wondered wonders thought asserted insisted declared explained continued joked quipped demanded
""")
"""Verbs that hang a quotation on its speaker: “Why?” he asked."""
