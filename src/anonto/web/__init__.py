"""The local web app: a table is opened, described, masked, judged and taken away in a browser on the same machine.

The server holds no logic of statistics. It builds a plan as plain data; worker processes read the table, propose,
match, mask and assess with the package's own functions, and can be stopped at any moment.
"""
