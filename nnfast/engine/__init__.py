"""How a model is run: plans, memory layout, executions."""
