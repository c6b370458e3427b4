"""The experiments of the four papers on public or made-up data, beside the numbers that the papers print."""
