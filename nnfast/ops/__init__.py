"""What each operation means: signatures, rules, shapes, the defining numpy arithmetic, and the native form."""
