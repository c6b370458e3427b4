"""How fast anonto is, as ratios against peers and physical limits measured in the same run."""
