"""Original and release to one comparison, and what attacks and losses find in it."""
