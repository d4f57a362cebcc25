# One statement, made of these terms alone.
[sieve]
volume = harbour.q42
prefix = h=http://harbour.example/
graph = h:
[subject]
term = h:petrel
label = petrel
[predicate]
term = h:skipper
label = skipper
[object]
term = h:ana
label = ana
