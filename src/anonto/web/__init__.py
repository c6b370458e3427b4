"""The local web app: open, describe, mask, assess and download a table in a browser on the same machine.

The server does no statistics itself. It builds a plan as plain data; worker processes read the table, propose,
match, mask and assess with the package's own functions, and can be stopped at any moment.
"""
