"""Tests of the sieve."""
