"""What tests of columns whose levels follow each other in memory compute, and by what they see what was stored."""

from fieldstone.gtscript import PARALLEL, Field, computation, interval

# Bytes of a cache line.
LINE = 64
# What lies where nothing may be stored: no result is that.
UNTOUCHED = 77


def doubled(inp: Field["real"], out: Field["real"]):
    with computation(PARALLEL), interval(...):
        out = inp * 2 + inp[-1, 0, 0]


def both(inp: Field["real"], out: Field["real"], other: Field["real"]):
    with computation(PARALLEL):
        with interval(0, 1):
            out = inp
            other = inp + 1
        with interval(1, None):
            out = inp + inp[0, 0, -1]
            other = out * 2 + inp[1, 0, 0]
