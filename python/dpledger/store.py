"""Ledgers that are only read, without a server: those of a folder, or of bundles.

    >>> ledgers = dpledger.open("run.ledger")
    >>> ledgers.epsilon(delta=1e-5).epsilon
    Interval(1.234567, 1.234568)
"""
from __future__ import annotations

import base64
import ctypes
import json
import os
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _client, _decoding, _wire
from ._client import Handle
from ._words import hinted, options_of
from .answers import DeltaAnswer, EpsilonAnswer, Profile, TuningCost
from .errors import InvalidArgument, WrongType
from .messages import (RESPONSES, ComputeDeltaRequest, ComputeEpsilonRequest,
                       ComputeProfileRequest, ComputeTuningCostRequest, Trials)

Path = Union[str, "os.PathLike[str]"]
Names = Union[None, str, Sequence[str]]


class Verification(NamedTuple):
    """What a ledger was found to be.

    origin: of its checkpoint: who signed it, and the ledger's name there
    size, root: its entries, and the hash over them in hexadecimal
    state: "OPEN" or "SEALED"
    self_signed: no key was given, so that whoever made the ledger may have made it up
    signed_by: the keys that signed, of those that were given; of a self-signed ledger, its own
    witnessed_by: the witnesses' keys, of those that were given, that cosigned
    """

    origin: str
    size: int
    root: str
    state: str
    self_signed: bool
    signed_by: Tuple[str, ...]
    witnessed_by: Tuple[str, ...]


class LedgerStatement:
    """The full guarantee of a ledger, or of all ledgers over a data set, for people to print and
    sign; `print` shows it.

    markdown, html: the whole of it
    """

    def __init__(self, message: Dict[str, Any]) -> None:
        self.markdown: str = message.get("markdown", "")
        self.html: str = message.get("html", "")
        self._message = {name: value for name, value in message.items()
                         if name not in ("markdown", "html")}

    def to_dict(self) -> Dict[str, Any]:
        """Its sections and its answer: dpledger.v1.Statement in proto JSON, without the two forms
        for people."""
        return dict(self._message)

    def __str__(self) -> str:
        return self.markdown

    def _repr_markdown_(self) -> str:
        return self.markdown


class LedgerInfo(NamedTuple):
    """A ledger of a store.

    name: in full, "projects/default/ledgers/adult"
    dataset, unit: what it declares
    state: "OPEN" or "SEALED"
    size, root: its entries, and the hash over them in hexadecimal
    message: all of it: dpledger.v1.Ledger in proto JSON
    """

    name: str
    dataset: str
    unit: str
    state: str
    size: int
    root: str
    message: Dict[str, Any]


def _info(message: Dict[str, Any]) -> LedgerInfo:
    declaration = message.get("declaration", {})
    return LedgerInfo(message["name"], declaration.get("dataset", ""),
                      declaration.get("unitOfPrivacy", ""), message.get("state", "OPEN"),
                      int(message.get("size", 0)),
                      base64.b64decode(message.get("rootHash", "")).hex(), message)


def _texts(values: Sequence[str], name: str) -> Any:
    """The texts as a C array."""
    data = [_client.utf8(value, "%s[%d]" % (name, place)) for place, value in enumerate(values)]
    return (ctypes.c_char_p * max(1, len(data)))(*data)


class Questions(Handle):
    """Ledgers that are asked: a `Store`'s, or a `Recorder`'s own."""

    def _store(self) -> "Store":
        raise NotImplementedError

    def _ask(self, method: str, request: Any, ledger: Names, dataset: Optional[str]) -> Any:
        if ledger is not None and dataset is not None:
            raise InvalidArgument("dataset: give it or ledger, and not both", field="dataset")
        names = ([] if ledger is None else [ledger] if isinstance(ledger, str)
                 else _wire.listed(ledger, "ledger", "names"))
        question = _wire.encode(request)
        answer, size = ctypes.c_void_p(), ctypes.c_size_t()
        store = self._store()  # which lends the answer
        store._call("ask", method.encode(), _texts(names, "ledger"), ctypes.c_size_t(len(names)),
                    _client.utf8(dataset, "dataset"), question, ctypes.c_size_t(len(question)),
                    ctypes.byref(answer), ctypes.byref(size))
        data = ctypes.string_at(answer, size.value) if answer else b""
        return _decoding.decode(RESPONSES[method], data, ("details",))

    def epsilon(self, *, delta: float, ledger: Names = None, dataset: Optional[str] = None,
                method: str = "best", relative_gap: float = 1e-4, group_size: int = 1,
                as_planned: bool = False) -> EpsilonAnswer:
        """The ε at which the ledgers are (ε, delta)-DP together, as they declare it.

        delta: in [0, 1)
        ledger: one name, or several, whose ledgers are composed; dataset: all ledgers over it;
            neither: all of the store, or the recorder's own, with every round that was recorded
        as_planned: of adaptive ledgers, what the same events would cost had they been one plan made
            without looking at outputs; no guarantee, as the answer's `guarantee` says
        Other arguments and errors as those of `dpledger.epsilon`; Error with the reason
        DATASETS_DIFFER for ledgers that do not compose, and FAILED_PRECONDITION with STORE_IN_USE
        while another process has the folder open.
        """
        options = options_of(method, "", "", relative_gap, group_size, as_planned)
        request = ComputeEpsilonRequest(delta=delta, options=options)
        return EpsilonAnswer(self._ask("ComputeEpsilon", request, ledger, dataset))

    def delta(self, *, epsilon: float, ledger: Names = None, dataset: Optional[str] = None,
              method: str = "best", relative_gap: float = 1e-4, group_size: int = 1,
              as_planned: bool = False) -> DeltaAnswer:
        """The δ at which the ledgers are (epsilon, δ)-DP together.

        epsilon: finite, >= 0. Other arguments and errors as those of `epsilon`.
        """
        options = options_of(method, "", "", relative_gap, group_size, as_planned)
        request = ComputeDeltaRequest(epsilon=epsilon, options=options)
        return DeltaAnswer(self._ask("ComputeDelta", request, ledger, dataset))

    def profile(self, *, epsilons: Sequence[float] = (), deltas: Sequence[float] = (),
                type_one_errors: Sequence[float] = (), priors: Sequence[float] = (),
                gaussian_least_delta: float = 0.0, ledger: Names = None,
                dataset: Optional[str] = None, method: str = "best", relative_gap: float = 1e-4,
                group_size: int = 1) -> Profile:
        """Many numbers of one privacy profile; arguments as those of `dpledger.profile` and of
        `epsilon`."""
        options = options_of(method, "", "", relative_gap, group_size)
        request = ComputeProfileRequest(options=options, epsilons=epsilons, deltas=deltas,
                                        type_one_errors=type_one_errors, priors=priors,
                                        gaussian_least_delta=gaussian_least_delta)
        return Profile(self._ask("ComputeProfile", request, ledger, dataset))

    def tuning(self, *, delta: float, trials: Trials, ledger: Names = None,
               dataset: Optional[str] = None, method: str = "best", relative_gap: float = 1e-4,
               group_size: int = 1) -> TuningCost:
        """What releasing the best of several runs costs, one of which is the ledgers'; arguments as
        those of `dpledger.tuning` and of `epsilon`."""
        options = options_of(method, "", "", relative_gap, group_size)
        request = ComputeTuningCostRequest(delta=delta, trials=trials, options=options)
        return TuningCost(self._ask("ComputeTuningCost", request, ledger, dataset))

    def entries(self, ledger: Optional[str] = None) -> Iterator[Dict[str, Any]]:
        """The entries of a ledger, in order: dpledger.v1.LedgerEntry in proto JSON. `ledger` may be
        left out if there is but one."""
        name, first, next_page = _client.utf8(ledger, "ledger"), 0, ctypes.c_uint64()
        while True:
            text, store = ctypes.c_char_p(), self._store()
            store._call("entries", name, ctypes.c_uint64(first), ctypes.byref(text),
                        ctypes.byref(next_page))
            yield from json.loads((text.value or b"[]").decode("utf-8"))
            first = next_page.value
            if first == 0:
                return

    def export(self, file: Path, ledger: Optional[str] = None) -> None:
        """Writes a ledger, with what proves that it is the one that was signed, into a file, a
        bundle, which gets its name when it is whole. `dpledger ledger verify` checks it, `dpledger
        ledger import` copies it to a server. `ledger` may be left out if there is but one."""
        # type: ignore[arg-type]
        self._store()._call("export", _client.utf8(ledger, "ledger"), _client.utf8(file, "file"))


class Store(Questions):
    """Ledgers at rest; `open` makes one. Nothing is appended, signed or written. For one thread at
    a time.

    A folder is open only while it is asked: a recorder may use it in between, and an answer is of
    the moment. Questions without `ledger` and `dataset` are about all of its ledgers together.
    """

    def __init__(self, *paths: Path) -> None:
        named = [os.fspath(path) if isinstance(path, os.PathLike) else path for path in paths]
        pointer = ctypes.c_void_p()
        self.paths: Tuple[str, ...] = tuple(named)
        _client.call("store_open", _texts(named, "paths"), ctypes.c_size_t(len(named)),
                     ctypes.byref(pointer))
        self._hold("store", pointer)

    @classmethod
    def held(cls, pointer: ctypes.c_void_p) -> "Store":
        """That of a recorder's ledger, for one question."""
        store = cls.__new__(cls)
        store._hold("store", pointer)
        return store

    def _store(self) -> "Store":
        return self

    def __repr__(self) -> str:
        return "dpledger.open(%s)" % ", ".join(repr(path) for path in self.paths)

    def _text(self, call: str, *arguments: Any) -> Any:
        """The JSON that dpledger_store_`call` gives."""
        text = ctypes.c_char_p()
        self._call(call, *arguments, ctypes.byref(text))
        return json.loads((text.value or b"null").decode("utf-8"))

    @property
    def ledgers(self) -> Tuple[LedgerInfo, ...]:
        """All ledgers, by name."""
        return tuple(_info(message) for message in self._text("ledgers"))

    def statement(self, ledger: Optional[str] = None, *, dataset: Optional[str] = None,
                  delta: Optional[float] = None) -> LedgerStatement:
        """The full guarantee of a ledger; or of all ledgers over `dataset`; or, with neither, of
        the only ledger or of all of them, if they are over one data set.

        delta: in (0, 1); None: 1e-5
        """
        if ledger is not None and dataset is not None:
            raise InvalidArgument("dataset: give it or ledger, and not both", field="dataset")
        return LedgerStatement(self._text(
            "statement", _client.utf8(ledger, "ledger"), _client.utf8(dataset, "dataset"),
            ctypes.c_double(0.0 if delta is None else _client.real(delta, "delta"))))

    def verify(self, ledger: Optional[str] = None, *, keys: Sequence[str] = ()) -> Verification:
        """Compares every entry of a ledger with its signed checkpoint. `ledger` may be left out if
        there is but one.

        keys: verifier keys that you have from elsewhere, one of which must have signed it
        Raises Error with code DATA_LOSS if it is not what was signed, which names the first
        difference.
        """
        listed = _wire.listed(keys, "keys", "verifier keys")
        found = self._text("verify", _client.utf8(ledger, "ledger"), _texts(listed, "keys"),
                           ctypes.c_size_t(len(listed)))
        return Verification(found["origin"], found["size"], found["root"], found[
            "state"], found["self_signed"], tuple(found["signed_by"]), tuple(found["witnessed_by"]))

    def close(self) -> None:
        """Lets go of it; of bundles, of their memory too."""
        self._give_up()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


@hinted()
def open(*paths: Path) -> Store:  # noqa: A001  (dpledger.open)
    """Opens ledgers to read them, without a server.

    paths: the folder of a `Recorder(path=…)`, or of a server's embedded store; or one or several
        bundles
    Raises InvalidArgument for what is none of these; Error with code NOT_FOUND, or DATA_LOSS if it
    was changed or is damaged, or FAILED_PRECONDITION with the reason STORE_IN_USE while another
    process has the folder open.
    """
    return Store(*paths)
