"""The accountants' interface, and a registry as Opacus 1.6 has it."""
REGISTERED = {}


def register_accountant(mechanism, accountant):
    if mechanism in REGISTERED:
        raise ValueError("%s is registered" % mechanism)
    REGISTERED[mechanism] = accountant


class IAccountant:
    def __init__(self):
        self.history = []
