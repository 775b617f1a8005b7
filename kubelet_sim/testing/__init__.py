"""For tests of users and of our own: fakes for speed, a scripted plugin, Hypothesis strategies."""
