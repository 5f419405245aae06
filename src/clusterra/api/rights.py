"""What each route is, among the deeds of `core/access.py`.

A route that is not in here cannot be made: the server does not start and no test runs.
The part of the path in braces that says where (`cluster`, `workspace`) decides whose
role is asked.
"""

import re
from collections.abc import Mapping

from clusterra.core.access import TABLE, Deed, Who

_CLUSTER = "/v1/clusters/{cluster}"
_JOBS = f"{_CLUSTER}/jobs"
_EVENTS = f"{_CLUSTER}/events"
_FLEET = f"{_CLUSTER}/fleet"
_STORAGE = f"{_CLUSTER}/storage"
_ME = "/v1/users/me"
_WORKSPACE = "/v1/workspaces/{workspace}"
_PEOPLE = f"{_WORKSPACE}/people"
_QUOTAS = f"{_WORKSPACE}/quotas"
_HOOKS = "/v1/webhooks"
_AUTOMATIONS = "/v1/automations"
_TEMPLATES = "/v1/templates"

ROUTES: Mapping[str, Deed] = {
    # the server
    "GET /healthz": Deed.PASS,
    "GET /readyz": Deed.PASS,
    "GET /openapi.json": Deed.PASS,
    "GET /metrics": Deed.SEE_METRICS,
    # signing in
    "GET /v1/auth": Deed.PASS,
    "GET /v1/auth/continue": Deed.PASS,
    "POST /v1/auth/callback": Deed.PASS,
    "POST /v1/auth/link": Deed.PASS,
    "POST /v1/auth/refresh": Deed.PASS,
    "POST /v1/auth/logout": Deed.PASS,
    "POST /v1/auth/device": Deed.PASS,
    "POST /v1/auth/device/token": Deed.PASS,
    "GET /v1/auth/device/{code}": Deed.LET_IN,
    "POST /v1/auth/device/{code}": Deed.LET_IN,
    # oneself
    f"GET {_ME}": Deed.KNOW_ONESELF,
    f"PATCH {_ME}": Deed.BE_ONESELF,
    f"GET {_ME}/tokens": Deed.KEEP_TOKENS,
    f"POST {_ME}/tokens": Deed.KEEP_TOKENS,
    f"DELETE {_ME}/tokens/{{token}}": Deed.KEEP_TOKENS,
    f"GET {_ME}/sessions": Deed.KEEP_TOKENS,
    f"DELETE {_ME}/sessions/{{session}}": Deed.KEEP_TOKENS,
    f"POST {_ME}/link": Deed.KEEP_TOKENS,
    f"DELETE {_ME}/workspaces/{{workspace}}": Deed.LEAVE,
    # workspaces and who is in them
    "GET /v1/workspaces": Deed.KNOW_ONESELF,
    f"GET {_WORKSPACE}": Deed.SEE_PEOPLE,
    f"PATCH {_WORKSPACE}": Deed.SET_UP,
    f"GET {_PEOPLE}": Deed.SEE_PEOPLE,
    f"POST {_PEOPLE}": Deed.MANAGE_PEOPLE,
    f"PATCH {_PEOPLE}/{{person}}": Deed.MANAGE_PEOPLE,
    f"DELETE {_PEOPLE}/{{person}}": Deed.MANAGE_PEOPLE,
    f"GET {_WORKSPACE}/events/export": Deed.TAKE_LEDGER,
    f"GET {_WORKSPACE}/events/checkpoints": Deed.TAKE_LEDGER,
    "GET /v1/audit": Deed.SEE_AUDIT,
    # what people may spend
    f"GET {_QUOTAS}": Deed.SEE_QUOTAS,
    f"PATCH {_QUOTAS}": Deed.SET_QUOTA,
    f"GET {_QUOTAS}/{{person}}": Deed.SEE_QUOTAS,
    f"PATCH {_QUOTAS}/{{person}}": Deed.SET_QUOTA,
    f"POST {_QUOTAS}/{{person}}/raise": Deed.SET_QUOTA,
    # clusters
    "GET /v1/clusters": Deed.SEE_CLUSTERS,
    "POST /v1/clusters": Deed.ADD_CLUSTER,
    f"DELETE {_CLUSTER}": Deed.KEEP_CLUSTERS,
    f"POST {_CLUSTER}/rotate-key": Deed.KEEP_KEYS,
    f"GET {_CLUSTER}": Deed.SEE_CLUSTER,
    f"GET {_CLUSTER}/nodes": Deed.SEE_CLUSTER,
    f"GET {_CLUSTER}/partitions": Deed.SEE_CLUSTER,
    f"GET {_CLUSTER}/keys": Deed.KEEP_KEYS,
    f"POST {_CLUSTER}/keys": Deed.KEEP_KEYS,
    f"DELETE {_CLUSTER}/keys/{{key}}": Deed.KEEP_KEYS,
    # the fleet
    f"GET {_FLEET}": Deed.SEE_CLUSTER,
    f"GET {_FLEET}/decisions": Deed.SEE_CLUSTER,
    f"GET {_FLEET}/policy": Deed.SEE_CLUSTER,
    f"PATCH {_FLEET}/policy": Deed.SET_POLICY,
    # prices
    f"GET {_CLUSTER}/prices": Deed.SEE_CLUSTER,
    f"PUT {_CLUSTER}/prices/rates": Deed.SET_PRICES,
    f"DELETE {_CLUSTER}/prices/rates": Deed.SET_PRICES,
    # jobs
    f"GET {_JOBS}": Deed.SEE_JOBS,
    f"POST {_JOBS}/submit": Deed.SUBMIT,
    f"POST {_JOBS}/estimate": Deed.SUBMIT,
    f"POST {_JOBS}/cancel": Deed.CHANGE_JOBS,
    f"GET {_JOBS}/{{job_id}}": Deed.SEE_JOBS,
    f"GET {_JOBS}/{{job_id}}/events": Deed.SEE_EVENTS,
    f"GET {_JOBS}/{{job_id}}/output": Deed.READ_OUTPUT,
    f"GET {_JOBS}/{{job_id}}/output/stream": Deed.READ_OUTPUT,
    f"GET {_JOBS}/{{job_id}}/why": Deed.SEE_JOBS,
    f"GET {_JOBS}/{{job_id}}/artifacts": Deed.READ_OUTPUT,
    f"GET {_JOBS}/{{job_id}}/diagnosis": Deed.READ_OUTPUT,
    f"DELETE {_JOBS}/{{job_id}}": Deed.CHANGE_JOBS,
    f"PATCH {_JOBS}/{{job_id}}": Deed.CHANGE_JOBS,
    f"POST {_JOBS}/{{job_id}}/hold": Deed.CHANGE_JOBS,
    f"POST {_JOBS}/{{job_id}}/release": Deed.CHANGE_JOBS,
    f"POST {_JOBS}/{{job_id}}/requeue": Deed.CHANGE_JOBS,
    # money
    "GET /v1/usage": Deed.ADD_UP_USAGE,
    f"GET {_CLUSTER}/usage": Deed.SEE_USAGE,
    f"GET {_JOBS}/{{job_id}}/cost": Deed.SEE_JOBS,
    f"GET {_WORKSPACE}/statements/{{month}}": Deed.SEE_USAGE,
    # webhooks and automations
    f"GET {_HOOKS}": Deed.LOOK_FOR_WEBHOOKS,
    f"POST {_HOOKS}": Deed.ASK_FOR_WEBHOOKS,
    f"POST {_HOOKS}/trigger": Deed.ASK_FOR_WEBHOOKS,
    f"GET {_HOOKS}/{{webhook}}": Deed.LOOK_FOR_WEBHOOKS,
    f"PATCH {_HOOKS}/{{webhook}}": Deed.ASK_FOR_WEBHOOKS,
    f"DELETE {_HOOKS}/{{webhook}}": Deed.ASK_FOR_WEBHOOKS,
    f"POST {_HOOKS}/{{webhook}}/rotate": Deed.ASK_FOR_WEBHOOKS,
    f"POST {_HOOKS}/{{webhook}}/test": Deed.ASK_FOR_WEBHOOKS,
    f"POST {_HOOKS}/{{webhook}}/replay": Deed.ASK_FOR_WEBHOOKS,
    f"GET {_HOOKS}/{{webhook}}/deliveries": Deed.LOOK_FOR_WEBHOOKS,
    f"GET {_HOOKS}/{{webhook}}/deliveries/{{event}}": Deed.LOOK_FOR_WEBHOOKS,
    f"GET {_AUTOMATIONS}": Deed.LOOK_FOR_WEBHOOKS,
    f"POST {_AUTOMATIONS}": Deed.ASK_FOR_WEBHOOKS,
    f"POST {_AUTOMATIONS}/dry-run": Deed.ASK_FOR_WEBHOOKS,
    f"GET {_AUTOMATIONS}/{{automation}}": Deed.LOOK_FOR_WEBHOOKS,
    f"PATCH {_AUTOMATIONS}/{{automation}}": Deed.ASK_FOR_WEBHOOKS,
    f"DELETE {_AUTOMATIONS}/{{automation}}": Deed.ASK_FOR_WEBHOOKS,
    f"GET {_AUTOMATIONS}/{{automation}}/firings": Deed.LOOK_FOR_WEBHOOKS,
    # templates and workflows
    f"GET {_TEMPLATES}": Deed.LOOK_FOR_TEMPLATES,
    f"POST {_TEMPLATES}/import": Deed.ASK_FOR_TEMPLATES,
    f"POST {_TEMPLATES}/validate": Deed.LOOK_FOR_TEMPLATES,
    f"GET {_TEMPLATES}/{{template}}": Deed.LOOK_FOR_TEMPLATES,
    f"DELETE {_TEMPLATES}/{{template}}": Deed.ASK_FOR_TEMPLATES,
    f"POST {_TEMPLATES}/{{template}}/render": Deed.LOOK_FOR_TEMPLATES,
    "GET /v1/launchables": Deed.LOOK_FOR_TEMPLATES,
    "POST /v1/launchables/{template}/render": Deed.LOOK_FOR_TEMPLATES,
    "GET /v1/api-routes": Deed.KNOW_ONESELF,
    f"GET {_CLUSTER}/schedules": Deed.SEE_JOBS,
    f"DELETE {_CLUSTER}/schedules/{{schedule}}": Deed.SUBMIT,
    f"GET {_CLUSTER}/workflows": Deed.SEE_JOBS,
    f"GET {_CLUSTER}/workflows/{{workflow}}": Deed.SEE_JOBS,
    # files
    f"POST {_STORAGE}/presigned-url": Deed.SEE_FILES,
    f"GET {_STORAGE}/files": Deed.SEE_FILES,
    f"DELETE {_STORAGE}/files": Deed.CHANGE_FILES,
    f"POST {_STORAGE}/copy": Deed.CHANGE_FILES,
    f"POST {_STORAGE}/move": Deed.CHANGE_FILES,
    f"GET {_STORAGE}/versions": Deed.SEE_FILES,
    f"GET {_STORAGE}/uploads": Deed.SEE_FILES,
    f"GET {_STORAGE}/uploads/{{upload}}": Deed.SEE_FILES,
    f"POST {_STORAGE}/uploads/{{upload}}/parts": Deed.CHANGE_FILES,
    f"POST {_STORAGE}/uploads/{{upload}}/complete": Deed.CHANGE_FILES,
    f"DELETE {_STORAGE}/uploads/{{upload}}": Deed.CHANGE_FILES,
    f"GET {_STORAGE}/usage": Deed.SEE_FILES,
    f"GET {_STORAGE}/retention": Deed.SEE_FILES,
    f"PATCH {_STORAGE}/retention": Deed.SET_RETENTION,
    "GET /v1/objects/{cluster}/{ticket}": Deed.USE_LINK,
    "HEAD /v1/objects/{cluster}/{ticket}": Deed.USE_LINK,
    "PUT /v1/objects/{cluster}/{ticket}": Deed.USE_LINK,
    # the ledger
    f"GET {_EVENTS}": Deed.SEE_EVENTS,
    f"GET {_EVENTS}/stream": Deed.SEE_EVENTS,
    f"GET {_EVENTS}/export": Deed.TAKE_LEDGER,
    f"GET {_EVENTS}/checkpoints": Deed.TAKE_LEDGER,
    # what machines say
    "POST /v1/internal/events": Deed.REPORT,
    "POST /v1/internal/batch": Deed.REPORT,
    "POST /v1/internal/agent/heartbeat": Deed.REPORT,
    # Without a key, which its caller's shell loses: it is known by the node that it names.
    "POST /v1/internal/clusters/{cluster}/node-misclassified": Deed.REPORT,
    # pages
    "GET /": Deed.PASS,
    "GET /login": Deed.PASS,
    "GET /signed-out": Deed.PASS,
    "GET /assets/{name}": Deed.PASS,
    "GET /auth/start": Deed.PASS,
    "GET /auth/callback": Deed.PASS,
    "GET /auth/link/{code}": Deed.PASS,
    "POST /auth/link": Deed.PASS,
    "POST /auth/logout": Deed.PASS,
    "GET /device": Deed.PASS,
    "POST /device": Deed.LET_IN,
}

_ANYBODYS = {
    route.partition(" ")[2] for route, deed in ROUTES.items() if TABLE[deed].who is Who.ANYBODY
}
PUBLIC = re.compile(
    "|".join(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) for path in sorted(_ANYBODYS))
)
"""Paths at which anybody is answered something. Everything else is refused to strangers, also
what does not exist."""


def deed_of(method: str, path: str) -> Deed:
    try:
        return ROUTES[f"{method} {path}"]
    except KeyError:
        raise LookupError(f"{method} {path} is not in api/rights.py: say what it is.") from None
