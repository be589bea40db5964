"""What papers and peers are measured with: reproductions, benchmarks, rivals, coverage.  No user program loads it."""
