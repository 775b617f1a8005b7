"""Transcripts for eyes: records picked by criteria, as a diagram, as a page."""
