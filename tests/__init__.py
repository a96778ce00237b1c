"""Tests of all packages: a folder for each one, folders of random checks, and what they share."""
