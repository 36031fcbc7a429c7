"""What explanations of stencils look like to people.

`words` puts facts into words, `text` lays them out in characters, `picture` draws how a stencil is computed, and `html`
puts drawing and facts together for notebooks.
"""
