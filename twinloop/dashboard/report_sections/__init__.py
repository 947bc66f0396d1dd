"""ReportData -> what the template `report.html` shows, one section a module."""
