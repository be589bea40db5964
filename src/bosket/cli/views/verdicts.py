"""Verdicts of audits: as text, as JSON, and as a page; who is convicted ends the command with 1."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bosket.cli.inputs.files import write_text
from bosket.cli.views.console import say
from bosket.cli.views.tables import print_lines, standard_output
from bosket.errors import DataError

if TYPE_CHECKING:
    from bosket.audit import Verdict


def show_verdict(found: Verdict, options: argparse.Namespace) -> None:
    """Print the verdict, write what was asked for, and fail where something is convicted."""
    if options.output is not None:
        write_text(found.json + "\n", options.output)
        say(f"wrote the verdict to {options.output}")
    elif options.format == "json":
        with standard_output() as stream:
            stream.write(found.json + "\n")
    else:
        print_lines(str(found))
    if options.report is not None:
        from bosket.reporting.audited import audit_page

        audit_page(found.to_json()).write(options.report)
        say(f"wrote a page to {options.report}")
    if found.is_convicted:
        names = [one.check for one in found.findings if one.is_convicted]
        raise DataError(f"The audit convicts {found.subject}: it is not so that {names[0]}.")
