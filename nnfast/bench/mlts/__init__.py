"""The benchmark of Android's Machine Learning Test Suite: latency and accuracy of models on real data.

manifest: which models on which data; pictures, sequences: that data; evaluators: what accuracy means; latency: what is
kept of times; compilation: its own benchmark; baseline: others on the same inputs; suite: all of it; results: CSV.
"""
