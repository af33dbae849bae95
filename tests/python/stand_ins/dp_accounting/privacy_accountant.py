"""The interface that accountants implement."""
import dataclasses
import enum
from typing import Any


class NeighboringRelation(enum.Enum):
    ADD_OR_REMOVE_ONE = 1
    REPLACE_ONE = 2
    REPLACE_SPECIAL = 3


class UnsupportedEventError(Exception):
    pass


class PrivacyAccountant:
    @dataclasses.dataclass(frozen=True)
    class CompositionErrorDetails:
        invalid_event: Any
        error_message: str

    def __init__(self, neighboring_relation):
        self._neighboring_relation = neighboring_relation

    def supports(self, event):
        return self._maybe_compose(event, 0, False) is None

    def compose(self, event, count=1):
        refused = self._maybe_compose(event, count, False)
        if refused is not None:
            raise UnsupportedEventError("%s caused by subevent %s"
                                        % (refused.error_message, refused.invalid_event))
        self._maybe_compose(event, count, True)
        return self
