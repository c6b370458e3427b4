"""The names of the formats that are read; without any import, for the command line's help names them too."""

from __future__ import annotations

FORMATS = ("edge-csv", "level-csv", "obo", "owl", "skos", "rf2", "icd10cm", "mesh")
"""OWL and SKOS are read as RDF/XML, Turtle or N-Triples."""
