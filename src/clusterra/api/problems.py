"""Errors as HTTP: the only place that knows both (RFC 9457 problem documents)."""

from http import HTTPStatus

import msgspec
import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from clusterra.core import errors
from clusterra.wire.problem import Problem

log = structlog.get_logger()

STATUS: dict[type[errors.ClusterraError], int] = {
    errors.Invalid: 422,
    errors.Malformed: 400,
    errors.TooLarge: 413,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Refused: 422,
    errors.Unreachable: 503,
    errors.Unanswered: 504,
    errors.Busy: 429,
}

TYPE = "https://clusterra.dev/problems/"


def status_of(error: errors.ClusterraError) -> int:
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def respond(error: errors.ClusterraError, status: int = 0) -> Response:
    status = status or status_of(error)
    problem = Problem(
        type=TYPE + error.code,
        title=HTTPStatus(status).phrase,
        status=status,
        detail=error.detail,
        code=error.code,
        kind=type(error).code,
        hint=error.hint,
        at=error.at,
    )
    headers = {}
    if isinstance(error, errors.Unreachable):
        headers["retry-after"] = str(error.retry_after)
    if isinstance(error, errors.Unauthenticated):
        headers["www-authenticate"] = "Bearer"
    return Response(
        msgspec.json.encode(problem), status, headers, media_type="application/problem+json"
    )


async def _ours(_: Request, error: Exception) -> Response:
    assert isinstance(error, errors.ClusterraError)
    return respond(error)


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return respond(
            errors.NotFound(
                f"{request.method} {request.url.path} is not something this server does.",
                hint="GET /openapi.json lists what it does.",
                code="method-not-allowed",
            ),
            error.status_code,
        )
    return respond(
        errors.NotFound(
            f"There is nothing at {request.url.path}.",
            hint="GET /openapi.json lists what there is.",
            code="no-such-path",
        )
    )


async def _parameters(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return respond(
        errors.Invalid(f"{where}: {first['msg']}.", hint="Mend that parameter.", at=where)
    )


async def unexpected(request: Request, error: Exception) -> Response:
    """Answer, and log, what nobody foresaw."""
    log.error("request.failed", path=request.url.path, exc_info=error)
    return respond(
        errors.ClusterraError(
            "Something went wrong in the control plane itself; your request was not the cause.",
            hint="Try again; if it stays, send the server's log of this minute with a bug report.",
            code="internal",
        )
    )


def install(app: FastAPI) -> None:
    app.add_exception_handler(errors.ClusterraError, _ours)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(RequestValidationError, _parameters)
    app.add_exception_handler(Exception, unexpected)
