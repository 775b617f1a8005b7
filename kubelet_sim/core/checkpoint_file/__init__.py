"""The checkpoint as text: written, read as Go reads it, diagnosed and repaired."""
