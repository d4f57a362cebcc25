"""examples/governed/story.sh prints what its README says it prints."""
import difflib
import os
import re
import subprocess

from program import *

FOLDER = source('examples/governed')


def told():
    """The block behind the heading "What it prints"."""
    with open(os.path.join(FOLDER, 'README.md'), encoding='utf-8') as file:
        text = file.read().split('## What it prints', 1)[1]
    return re.search(r'```\n(.*?)```\n', text, re.DOTALL).group(1)


@test
def the_story_goes_as_its_page_says(t):
    done = subprocess.run([os.path.join(FOLDER, 'story.sh'), os.path.abspath(PROGRAM), source('examples/models/quoin-tiny.gguf'), t.path('made')],
                          capture_output=True, text=True, check=False, env=clean_environment(TMPDIR=t.temporary), cwd=t.folder)
    t.equal(done.returncode, 0, done.stderr)
    wanted, got = told(), done.stdout
    if wanted != got:
        raise Failed('README.md says otherwise:\n' + ''.join(difflib.unified_diff(wanted.splitlines(1), got.splitlines(1), 'README.md', 'story.sh')))


if __name__ == '__main__':
    main()
