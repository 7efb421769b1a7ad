"""`python -m localrank`."""

from localrank.cli import main

if __name__ == "__main__":
    main()
