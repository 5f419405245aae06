"""What is asked beyond the clusters: receivers, mail, prices, the identity provider."""

import os
from urllib.parse import urlsplit

from clusterra.core.errors import Invalid
from clusterra.ports import Clock, Mailer, PriceList, Provider, Sender
from clusterra.settings import Settings
from clusterra.wiring.keys import secret


def make_sender(settings: Settings) -> Sender:
    # Brings an HTTP client, which tests of other rooms need not load.
    from clusterra.adapters.sender import HttpSender  # noqa: PLC0415

    server, webhooks = settings.server, settings.webhooks
    return HttpSender(
        private=webhooks.private,
        timeout_seconds=webhooks.timeout_seconds,
        own=[(server.host, server.port)] if server.port else [],
        proxy=webhooks.proxy,
    )


def make_mailer(settings: Settings) -> Mailer | None:
    mail = settings.mail
    if mail is None:
        return None
    from clusterra.adapters.mailer import SmtpMailer  # noqa: PLC0415

    return SmtpMailer(
        host=mail.host,
        port=mail.port,
        sender=mail.sender,
        user=mail.user,
        password=secret(mail.password_file),
        security=mail.security,
        timeout=settings.webhooks.timeout_seconds,
    )


def make_price_list(settings: Settings, clock: Clock) -> PriceList | None:
    match settings.prices.source:
        case "table":
            return None
        case "aws":
            # Brings what signs requests, which a server that asks nobody need not load.
            from clusterra.adapters.aws_prices import AwsPrices  # noqa: PLC0415

            return AwsPrices(os.environ, clock)
        case other:
            raise Invalid(
                f"The setting prices.source cannot be {other!r}.", hint="Say table or aws."
            )


def make_provider(settings: Settings, clock: Clock) -> Provider | None:
    oidc = settings.oidc
    if oidc is None:
        return None
    # Brings the libraries of the protocol, which a server without a provider need not load.
    from clusterra.adapters.oidc import OidcProvider  # noqa: PLC0415

    return OidcProvider(
        issuer=oidc.issuer,
        client_id=oidc.client_id,
        client_secret=secret(oidc.client_secret_file),
        name=oidc.name or urlsplit(oidc.issuer).hostname or oidc.issuer,
        scopes=oidc.scopes,
        groups_claim=oidc.groups_claim,
        clock=clock,
    )
