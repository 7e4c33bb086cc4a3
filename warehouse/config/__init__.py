"""What a call is told: settings, the project's file, times."""
