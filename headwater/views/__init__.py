"""Numbers and texts pass in; the parts of reports and pages that several packages show pass out."""
