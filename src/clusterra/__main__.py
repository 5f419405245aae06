"""`python -m clusterra` is `clusterra`."""

from clusterra.cli.main import main

if __name__ == "__main__":
    main()
