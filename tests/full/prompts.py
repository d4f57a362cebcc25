"""The texts that the full tests continue: five of everyday kinds, one longer than a prefill chunk and Gemma 3's sliding window."""

PROMPTS = [
    ('story', 'Once upon a time, in a small village by the sea, there lived'),
    ('facts', 'The capital of France is Paris. The capital of Japan is Tokyo. The capital of Italy is'),
    ('code', 'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n'),
    ('list', 'Here is a recipe for pancakes.\n\nIngredients:\n- 2 cups of flour\n- 1'),
    ('science', 'Photosynthesis is the process by which plants'),
    ('long',
     'The harbour town of Ellin had three clocks, and none of them agreed. The clock on the customs house ran four '
     'minutes fast, because the first customs officer had wanted every ship to think itself late. The clock on the '
     'church ran two minutes slow, because the bell ringer was old and liked to sit down before he pulled the rope. '
     'The third clock hung in the window of a shop that sold rope, lamps, tar and tea, and nobody had ever found out '
     'whether it was right, since there was nothing in the town to compare it with.\n\nMara kept the shop. She opened '
     'at seven by her own clock, which was six fifty-six by the church and seven past by the customs house. In winter '
     'the first customer was always the lamp lighter, who bought one box of matches and paid with the same coin that '
     'she had given him as change the day before. In summer it was the fishermen, who bought nothing, but stood in '
     'the doorway and argued about the wind. There were 14 boats in the harbour in 1871, 22 in 1880 and only 9 in '
     '1893, and every one of them had at some time owed Mara money.\n\nOne morning in October a woman came off the mail '
     'boat with a small brass box under her arm. She asked the way to the inn, then stopped in front of the window '
     'and looked at the clock for a long time. "It is wrong," she said at last. "By how much?" asked Mara, who had '
     'come out to sweep the step. "I can\'t tell you yet," said the woman. "But I shall know by noon." She set the box '
     'on the step, opened it, and inside lay a sextant, a notebook and a watch no larger than a walnut. The fishermen '
     'stopped arguing. Even the wind seemed to wait.\n\nAt noon half the town stood in the square. The woman raised the '
     'sextant to the sun, read the angle, wrote it down, and turned three pages of small figures. Then she looked at '
     'the watch, at the customs house, at the church, and last of all at the clock in the window. "The customs house '
     'is four minutes fast," she said. "The church is two minutes slow. And the clock in the shop is right to the '
     'second." Nobody spoke. Mara put down her broom. For thirty years she had set that clock each morning by '
     'guessing halfway between the other two, and she had never told anyone. She thought about that for a moment, and '
     'then she'),
]
