"""The ontology as arrays: taxonomies, ancestor closures, semantic distances and information content."""
