"""From model to plan: shapes, kernels, packing, memory."""
