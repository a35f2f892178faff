"""Speed of nnfast over time, measured by asv; see the README beside asv.conf.json."""
