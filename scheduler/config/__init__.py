"""The configuration: files and objects in, profiles and settings out, every error with its path."""
