"""The command line: one module per subcommand, no mathematics."""

from bosket.cli.app import main, program

__all__ = ["main", "program"]
