"""`python -m pdai` is `pdai`."""

from pdai.cli import main

if __name__ == "__main__":
    main()
