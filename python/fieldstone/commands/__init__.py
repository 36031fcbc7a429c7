"""What the command ``fieldstone`` can do: a module for each word that may follow it.

Each has ``add(commands)``, which adds the word and its options to the parser.
"""
