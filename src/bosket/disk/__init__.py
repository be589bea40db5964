"""Data sets larger than memory: files of reports, counted through bitmaps in a scratch folder."""

from bosket.disk.opened import OpenReports, open

__all__ = ["OpenReports", "open"]
