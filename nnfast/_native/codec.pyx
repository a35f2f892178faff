"""Bytes and their digests: msgpack, the keyed digest of caches, the fingerprint of LSH_PROJECTION."""

include "codec/msgpack.pxi"
include "codec/digest.pxi"
include "codec/fingerprint.pxi"
