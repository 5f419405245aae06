"""The other ways in which the same body is spelled, by the hands that it goes through.

A signature is over bytes. Frameworks parse JSON and write it again, editors end files
with a line break, and Windows has two characters for it.
"""

import json
from collections.abc import Iterator
from itertools import product

_FORMS: tuple[tuple[str, dict[str, object]], ...] = (
    ("its JSON written without spaces", {"separators": (",", ":")}),
    ("its JSON written with spaces after commas and colons", {}),
    ("its JSON indented by two", {"indent": 2}),
    ("its JSON indented by four", {"indent": 4}),
)


def respelled(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield in words what is different, and the body so spelled; the likeliest first."""
    yield "the line break at its end left out", body.rstrip(b"\r\n")
    yield "a line break at its end", body + b"\n"
    yield "LF for each CRLF", body.replace(b"\r\n", b"\n")
    yield "the mark at its beginning left out (BOM)", body.removeprefix(b"\xef\xbb\xbf")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return
    for (words, form), in_order, ascii in product(_FORMS, (False, True), (False, True)):
        more = ", its names sorted" if in_order else ""
        more += ", \\u for what is not ASCII" if ascii else ""
        text = json.dumps(value, sort_keys=in_order, ensure_ascii=ascii, **form)  # type: ignore[arg-type]
        yield words + more, text.encode(errors="surrogatepass")
