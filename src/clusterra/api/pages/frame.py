"""What surrounds the content of a page: the document, the mark, and the two layouts.

A `door` is a page one passes through: a column with the question, and the worker cells beside it
where there is room. A `room` is a page one stays on: a bar on top, and the content under it.
"""

from base64 import b64encode

from clusterra.api.pages.cells import CELLS
from clusterra.api.pages.markup import Html, html, joined
from clusterra.api.pages.parts import button, form
from clusterra.api.pages.style import CSS_PATH

_SHAPES = (
    '<rect class="c" x="3" y="3" width="7.6" height="18" rx="2"/>'
    '<rect class="f" x="5" y="9" width="3.6" height="10" rx="0.8"/>'
    '<rect class="c" x="13.4" y="3" width="7.6" height="18" rx="2"/>'
    '<rect class="f" x="15.4" y="13" width="3.6" height="6" rx="0.8"/>'
)
_MARK = Html(f'<svg class="mark" viewBox="0 0 24 24" aria-hidden="true">{_SHAPES}</svg>')
_ICON_FILE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>'
    ".c{fill:none;stroke:#1d242b;stroke-width:1.8}.f{fill:#1d242b}"
    "@media(prefers-color-scheme:dark){.c{stroke:#e8ebed}.f{fill:#e8ebed}}"
    f"</style>{_SHAPES}</svg>"
)
_ICON = f"data:image/svg+xml;base64,{b64encode(_ICON_FILE.encode()).decode()}"
_BRAND = html('<a class="brand" href="/">{mark}<b>Clusterra</b></a>', mark=_MARK)


def door(title: str, *content: Html) -> str:
    return _document(
        title,
        html(
            '<div class="door"><div class="way"><header>{brand}</header><main>{content}</main></div>'
            '<div class="art" aria-hidden="true">{cells}</div></div>',
            brand=_BRAND,
            content=joined(*content),
            cells=CELLS,
        ),
    )


def room(title: str, *content: Html) -> str:
    return _document(
        title,
        html(
            '<header class="top">{brand}{leave}</header><main class="room">{content}</main>',
            brand=_BRAND,
            leave=form("/auth/logout", button("Sign out", primary=False)),
            content=joined(*content),
        ),
    )


def _document(title: str, body: Html) -> str:
    # Referrers stay on this server, since the address of a page may hold a one-time code. They are
    # not switched off: a browser that sends none posts forms with `Origin: null`, and our check of
    # where a form came from would refuse them.
    return html(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<meta name="referrer" content="same-origin"><meta name="robots" content="noindex">'
        '<title>{title} · Clusterra</title><link rel="icon" href="{icon}">'
        '<link rel="stylesheet" href="{css}"></head>\n<body>{body}</body></html>\n',
        title=title,
        icon=_ICON,
        css=CSS_PATH,
        body=body,
    )
