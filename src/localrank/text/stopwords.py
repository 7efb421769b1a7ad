"""Stopwords: words that carry little meaning by themselves."""

from __future__ import annotations

# Articles, pronouns, prepositions, conjunctions, auxiliaries, and their parts around apostrophes.
_ENGLISH = """
a about above after again against all also although always am among an and any are aren
around as at be because been before being below between both but by can cannot could
couldn d did didn do does doesn doing don down during each either else etc even ever
every few for from further had hadn has hasn have haven having he hence her here hers
herself him himself his how however i if in into is isn it its itself just ll m may me
might more most much must my myself neither no nor not now of off on once only or other
otherwise our ours ourselves out over own per quite rather re s same shall shan she
should shouldn since so some such t than that the their theirs them themselves then
there therefore these they this those though through thus to too toward towards under
until up upon us ve very was wasn we were weren what whatever when whence whenever where
whereas wherever whether which whichever while who whoever whom whose why will with
within without won would wouldn yet you your yours yourself yourselves
"""
LISTS = {"english": frozenset(_ENGLISH.split())}
