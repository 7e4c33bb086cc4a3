"""The database file: how it is opened, locked and upgraded, and its errors in words."""
