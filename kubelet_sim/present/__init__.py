"""Values of the model, snapshots and transcripts as text, tables, diagrams and pages; knows rich, and no command line."""
