"""Masking methods, one per file: a frozen record of parameters with fit, and what fit returns with apply."""
