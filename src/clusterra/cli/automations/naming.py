"""Which automation is meant by what somebody typed."""

from clusterra.cli.session import Session
from clusterra.cli.which_one import the_one
from clusterra.wire.automations import AutomationView


def the_automation(session: Session, wanted: str) -> AutomationView:
    named = session.named_workspace()
    known = session.client.automations.list(session.the_workspace().id if named else "")
    return the_one(
        known.automations, wanted, noun="automation", make="clusterra automations add --help"
    )
