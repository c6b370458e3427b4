"""The experiments of the four papers on public or synthetic data, beside the numbers that the papers print."""
