"""One self-contained HTML file that shows scores and the evidence for them; and the same pieces for notebooks."""

from quintet.report.regression import regression_section
from quintet.report.write import ReportWriter, html_fragment, render_report, write_report

__all__ = ["ReportWriter", "html_fragment", "regression_section", "render_report", "write_report"]
