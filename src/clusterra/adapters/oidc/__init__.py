"""The Provider port over OpenID Connect: any provider that has a discovery document."""

from clusterra.adapters.oidc.provider import OidcProvider as OidcProvider
