"""A worker process of a sweep; started by `anonto.sweeping.workers`, and of no use without it."""

from anonto.sweeping.workers import serve

if __name__ == "__main__":
    serve()
