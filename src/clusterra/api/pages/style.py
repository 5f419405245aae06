"""The one style sheet of the pages, and what a browser is told it may load with them."""

from hashlib import sha256
from importlib import resources

CSS: bytes = (resources.files(__package__) / "pages.css").read_bytes()

CSS_PATH = f"/assets/pages-{sha256(CSS).hexdigest()[:12]}.css"
"""Named after its contents, so that it may be cached for ever and a new one is never missed."""


def csp(*forms_may_reach: str) -> str:
    """Return the Content-Security-Policy of a page: our style sheet, our forms, nothing else.

    Chromium holds a form to `form-action` through every redirect. A page whose form ends at
    another site (signing out at the identity provider too) names that site's origin here.
    """
    forms = " ".join(("'self'", *forms_may_reach))
    return (
        "default-src 'none'; style-src 'self'; img-src data:; "
        f"form-action {forms}; frame-ancestors 'none'; base-uri 'none'"
    )


CSP = csp()
