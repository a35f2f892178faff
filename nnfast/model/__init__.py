"""What a model is: records, enumerations and structural rules. No computing."""
