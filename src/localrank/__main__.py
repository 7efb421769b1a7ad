"""`python -m localrank`."""

from localrank.cli import main

main()
