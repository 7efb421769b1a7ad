"""Feature logs of search engines, joined with judgments or clicks."""
