"""Input: numbers and texts. Output: the parts of reports and pages that several packages show."""
