"""`python -m warehouse`: the command by another name."""

from warehouse.cli import main

if __name__ == "__main__":
    main()
