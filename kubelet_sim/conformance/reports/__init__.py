"""What a run is told in: a module for each format, pure functions from reports to text, and what writes them to files.

    wanted = targets([("junit", "junit.xml"), ("html", "report.html")])  # before the run: paths are looked at
    reports = run(config)
    write(wanted, reports)

Formats are made of the values of `kubelet_sim.conformance.verdict` and of nothing else. `report_text` says what they have in
common; each escapes text of others for its medium, once.
"""

from __future__ import annotations

from kubelet_sim.conformance.reports.report_files import (
    FORMATS,
    ReportFormat,
    ReportTarget,
    append_summary,
    targets,
    write,
)

__all__ = ["FORMATS", "ReportFormat", "ReportTarget", "append_summary", "targets", "write"]
