"""The greeting of `pdai` without arguments. Imports nothing, so that it answers at once."""

GREETING = """\
pdai trains samplers of discrete objects whose policies may see the whole path, and says how wrong
they are. Seven things to do:

  pdai train lines --dynamics gru                    train a sampler that sees the whole path
  pdai certify runs/lines-gru-0                      say how wrong it is: here, exactly
  pdai solve lines                                   get the exact sampler, without training
  pdai posterior my.csv                              get exact edge probabilities of a table
  pdai report runs/lines-gru-0                       look at it, as one page of HTML
  pdai inspect reference.problems:Grid.minimal       look at a problem, without training
  pdai verify --claim prop:lines                     check a claim of the paper

`pdai --help` lists all commands, `pdai COMMAND --help` what each takes, with examples.
"""
