"""The `nnfast` command: one file per subcommand, each with `add_arguments(parser)` and `main(args)` -> exit code."""
