"""Reading: leaderboards, queries and listings, each one SQL template over the stored values."""
