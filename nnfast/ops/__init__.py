"""Operations, one file per family: signatures, rules, shape inference, numpy reference and native lowering."""
