"""The networks that ci/network_models.py writes, by what they are for."""
