"""Tables on a Spark cluster: rows are counted and masked where they are, methods are fitted on the driver."""
