"""Why something is not told yet, and what to do about an endpoint that does not answer: in words."""

from clusterra.core.webhooks.delivery import Delivery, DeliveryState
from clusterra.core.webhooks.endpoint import Endpoint, EndpointState, Reach
from clusterra.core.webhooks.exchange import Answer, Failure
from clusterra.core.webhooks.retry import SCHEDULE
from clusterra.core.words import count


def sentence(delivery: Delivery, endpoint: Endpoint) -> str:
    """Say how a delivery stands."""
    match delivery.state:
        case DeliveryState.OK:
            tries = f"at attempt {delivery.attempts}" if delivery.attempts > 1 else "at once"
            return f"{endpoint.name} took it {tries}, with {delivery.status}."
        case DeliveryState.DEAD:
            return f"It was given up. {delivery.why} It can be replayed."
        case DeliveryState.KEPT:
            return f"{endpoint.name} was {_asleep(endpoint)} when this happened. It is kept for a replay."
    if endpoint.state is not EndpointState.ACTIVE:
        return f"It waits, because {endpoint.name} is {endpoint.state}. {endpoint.why}".rstrip()
    if delivery.state is DeliveryState.PENDING:
        return f"It is about to be sent, or waits until {endpoint.name} answers again."
    left = len(SCHEDULE) - delivery.attempts
    return f"{delivery.why} It will be tried up to {count(left, 'more time')}."


def _asleep(endpoint: Endpoint) -> str:
    return "not active" if endpoint.state is EndpointState.ACTIVE else endpoint.state


_WHAT_TO_DO = {
    Failure.BLOCKED: "Have whoever runs the server add the address to webhooks.private.",
    Failure.DNS: "Check the host's name in the address.",
    Failure.CONNECT: "Check that it runs, listens on that port, and lets this server through.",
    Failure.TIMEOUT: "Check that it runs, listens on that port, and lets this server through.",
    Failure.TLS: "Give it a certificate that browsers would accept, for that very name.",
    Failure.MAIL: "Check the address, and the server's settings in [mail].",
    Failure.URL: "Set the address and the secret anew: clusterra webhooks edit",
    Failure.PROTOCOL: "Check that the address is that of an HTTP server, and http or https as it"
    " speaks.",
}


def next_step(answer: Answer, endpoint: Endpoint) -> str:
    """Say what to do about a test that did not go well."""
    status = answer.status or 0
    if answer.failure is Failure.BLOCKED and endpoint.reach is Reach.PUBLIC:
        return "If it is meant to be a private address, edit the webhook with --allow-private."
    if answer.failure is not None:
        return _WHAT_TO_DO[answer.failure]
    if status in (401, 403):
        return "Check whether it wants to see something that is not in the address."
    if status == 404:
        return "Check the path in the address."
    if 300 <= status < 400:
        return "Set the address that it points to."
    return "Look at what it answered, and at its own log for the request id."
