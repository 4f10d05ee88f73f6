"""`python -m fast` is `pdai`."""

from fast.cli import main

if __name__ == "__main__":
    main()
