"""An original and its release put side by side, in memory or on a cluster: all that an assessment looks at."""
