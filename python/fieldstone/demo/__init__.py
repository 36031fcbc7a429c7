"""The job that `fieldstone demo` does on real data.

`main` goes through it: `data` reads a variable and the heights of its levels, `stencils` holds the two stencils, `run`
steps them on every backend and times them, `report` and `figure` show what came out. Needs the packages of ``pip
install 'fieldstone[demo]'``.
"""
