"""Speed of anonto, as ratios to peers and physical limits measured in the same run."""
