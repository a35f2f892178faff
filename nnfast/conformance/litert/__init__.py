"""A model file beside LiteRT: what `nnfast check` compares, and how.

process: the program that runs LiteRT; peer: asks it; samples: random inputs; compare: two values of a tensor; check:
all operators of a file.
"""
