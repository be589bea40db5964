"""Data sets larger than memory: files of reports, counted through bitmaps in a scratch folder."""

from bosket.disk.opened import OpenReports, open
from bosket.disk.records.opened import OpenBaskets

__all__ = ["OpenBaskets", "OpenReports", "open"]
