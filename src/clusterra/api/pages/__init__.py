"""The pages a person meets in a browser: signing in, letting a terminal in, and where they are.

Each page is a function from what it says to a whole HTML document. They read no request, set no
cookie and know no route but the ones their own forms and links lead to; `routes/` decides which
page is shown, and sends it with `CSP`.

They work without any script, so that signing in depends on nothing but a browser.
"""

from clusterra.api.pages.device import device as device
from clusterra.api.pages.device import device_done as device_done
from clusterra.api.pages.device import device_request as device_request
from clusterra.api.pages.home import home as home
from clusterra.api.pages.sign_in import link as link
from clusterra.api.pages.sign_in import sign_in as sign_in
from clusterra.api.pages.sign_in import signed_out as signed_out
from clusterra.api.pages.style import CSP as CSP
from clusterra.api.pages.style import CSS as CSS
from clusterra.api.pages.style import CSS_PATH as CSS_PATH
from clusterra.api.pages.style import csp as csp
from clusterra.api.pages.trouble import trouble as trouble
