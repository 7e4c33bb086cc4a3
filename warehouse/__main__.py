"""`python -m warehouse`: the same command."""

from warehouse.cli import main

if __name__ == "__main__":
    main()
