"""Loops that measure: what the arithmetic and the caches sustain, and what ways between processes cost."""

include "bench/peak.pxi"
include "bench/channels.pxi"
