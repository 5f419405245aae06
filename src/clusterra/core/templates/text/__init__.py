"""Text with `{{ … }}` in it: the small part of Go's text/template that recipes use.

`parse` reads it once, `fill` writes it out with values. Paths, strings and numbers; `if`, `else`,
`range`, `end`; pipes and parentheses; trim markers and comments; the functions of `functions.py`
and no others. A path without a value is an error that names it, never an empty string.
"""

from clusterra.core.templates.text.fill import Writer as Writer
from clusterra.core.templates.text.fill import fill as fill
from clusterra.core.templates.text.parse import blanked as blanked
from clusterra.core.templates.text.parse import parse as parse
from clusterra.core.templates.text.parse import paths as paths
from clusterra.core.templates.text.tree import Text as Text
