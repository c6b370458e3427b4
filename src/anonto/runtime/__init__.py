"""Threads, processes and plugins."""
