# One statement, made of these terms alone.
[sieve]
volume = harbour.q42
prefix = h=http://harbour.example/
graph = h:
[subject]
term = h:pier
label = pier
[predicate]
term = h:keeper
label = keeper
[object]
term = h:bo
label = bo
