"""A model file beside LiteRT: what `nnfast check` compares, and how.

process: the program that runs LiteRT; peer: asks it; samples: random inputs; compare: two values of a tensor; alone:
one operator by itself; check: all operators of a file.
"""
