"""The ledger of a training run: what is released is written down first.

    with dpledger.Recorder(path="run.ledger", dataset="adult", unit="example") as ledger:
        round = ledger.round(dpledger.Poisson(0.01), [dpledger.SumQuery(1.0, 1.1)])
        ...                         # noise of one's own; dpledger.torch and dpledger.sums have
                                    exact noise
        round.await_releasable()    # and only now the noised sum may leave
"""
from __future__ import annotations

import ctypes
import os
from typing import Any, List, Optional, Sequence, Tuple, Type, Union

from . import _client, _wire, _words
from ._client import Handle, call
from .errors import Error, InvalidArgument, WrongType
from .messages import FOLDED, BudgetGrant, MechanismEvent, RoundsEvent, SamplingScheme, SumQuery
from .store import Questions, Store

_SCHEMES = {held: (name, _client.SCHEMES[name]) for name, held in FOLDED["SamplingScheme"].values()}


def scheme_struct(scheme: SamplingScheme, name: str = "scheme") -> Any:
    """`scheme` as the C interface has it. WrongType if it is none."""
    if type(scheme) not in _SCHEMES:
        raise WrongType("%s: must be one of %s, got %s" % (
            name, ", ".join(kind.__name__ for kind in _SCHEMES), type(scheme).__name__), field=name)
    kind = _SCHEMES[type(scheme)][1]
    rounds = getattr(scheme, "rounds_per_epoch", getattr(scheme, "batches_per_epoch", 0))
    size = getattr(scheme, "sample_size", getattr(scheme, "max_sample_size", 0))
    return _client.SamplingScheme(
        kind=kind, population_size=_client.whole(scheme.population_size, name + ".population_size"),
        probability=_client.real(_words.rate(getattr(scheme, "probability", 0.0)), name
                                 + ".probability"),
        sample_size=_client.whole(size, name + ".sample_size"),
        rounds_per_epoch=_client.whole(rounds, name + ".rounds_per_epoch"),
        epoch=_client.whole(getattr(scheme, "epoch", 0), name + ".epoch"),
        contributions=_client.whole(getattr(scheme, "contributions", 0), name + ".contributions"),
        fixed_bins=_wire.truth(getattr(scheme, "fixed_bins", False), name + ".fixed_bins"))


class Round:
    """A round, or a mechanism, that is in the spool."""

    def __init__(self, recorder: "Recorder", number: int) -> None:
        self._recorder, self.number = recorder, number

    def __repr__(self) -> str:
        return "Round(%d)" % self.number

    def await_releasable(self) -> None:
        """Waits until it may be released. On an Error nothing may be: any refusal of the server's,
        DEADLINE_EXCEEDED (which may be awaited again)."""
        self._recorder._call("await_releasable", ctypes.c_uint64(self.number))


class Recorder(Questions):
    """Writes the rounds of one training run into a ledger, and answers what that has come to. An
    opening that records nothing leaves a ledger as it was, but for close(), and so the end of
    `with`, under the name of a writer that has entries; `dpledger.open` only reads. Several threads
    may use it at once; a fork may not.

    dataset, unit: what the ledger is over ("adult") and what one record of it is ("example"); up to
        256 bytes each
    server: "host:port", or "a:443,b:443" of servers over one database, of which the next one is
        called whenever one does not answer; None is what the environment (DPLEDGER_SERVER) or
        dpledger/client.conf says
    path: a folder with the ledger, instead of a server, made if missing: one process at a time.
        None, where nothing names a server, is LEDGER.ledger here, and stderr says so
    ledger: its name on the server, or in the folder; None is the data set's
    writer: tells the writers of one ledger apart, the same at every restart
    adjacency: "add-or-remove-one", "replace-one" or "zero-out"
    parameters: "fixed", if schemes, noise and the number of rounds are decided without looking at
        outputs, else "adaptive"
    planned_rounds: the number decided in advance; 0 if it is not stated
    plan_independent: the plan looked at no output of another ledger over the data. Ledgers that all
        say so have differential privacy together; others an odometer, which costs more and is none
    released, description: for people: what is released ("final model"), and your own words
    filter: of an adaptive ledger: ("mixture", epsilon, delta), ("rdp", order, epsilon), ("zcdp",
        rho) or ("gdp", mu). Under "fail-closed" a round that would cross it is refused before its
        release: Error with reason "FILTER_CROSSED"; others may be recorded still
    budget: the name of a budget over the data set, whose filter is taken: a round that costs more
        than was granted (request_grant) is refused before its release: Error with reason
        "BUDGET_EXCEEDED"
    blocks: of a budget with blocks, those whose units may be in the data, like "1-12,14"; None is
        all
    automatic_grants: more is granted of the budget whenever a round needs it, a sixteenth of what
        was recorded at a time, and closing gives back what is not spent, once all writers have
        closed
    new_dataset: the data set is a new one, however much its name is like another's, which the
        server would take for a slip (reason "DATASET_NEARLY_EXISTS")
    spool: a folder on a disk that survives the trainer, made if missing; None is LEDGER.spool here,
        or spool in `path`
    policy: when a noised sum may leave: "fail-closed", once the ledger has its event, or "spool",
        once the disk has
    plan_varies: the declared plan has rounds of more than one configuration
    state_key: a file of 32 bytes, mode 0600, the same at every restart, which keeps epochs over a
        kill; in state_folder, or beside the spool
    ca, certificate, certificate_key, token_file, log_key: PEM files, a token's file, the log's
        verifier key; None is DPLEDGER_CA, DPLEDGER_CERT, DPLEDGER_CERT_KEY, DPLEDGER_TOKEN_FILE,
        DPLEDGER_LOG_KEY, or dpledger/client.conf

    Timeouts are in seconds; 0 stands for the library's own: 30, 300, 300, 60 and 20. In a `with`
    statement an exception leaves the writer open: the next process carries the run on. Without one
    the writer is closed, once all is delivered.

    Raises Error: FAILED_PRECONDITION if the ledger has another declaration, is sealed, the writer
    has closed, or another process has the folder open; UNAVAILABLE or DEADLINE_EXCEEDED if the
    server cannot be reached; DATA_LOSS, PERMISSION_DENIED. InvalidArgument if the folder holds
    something else.
    """

    _shared = True

    def __init__(self, *, dataset: str, unit: str, server: Optional[str] = None,
                 path: Optional[str] = None, ledger: Optional[str] = None,
                 writer: Optional[str] = None, adjacency: str = "add-or-remove-one",
                 parameters: str = "fixed", planned_rounds: int = 0, plan_independent: bool = False,
                 released: Optional[str] = None, description: Optional[str] = None,
                 filter: Optional[Tuple[Any, ...]] = None, budget: Optional[str] = None,
                 blocks: Optional[str] = None, automatic_grants: bool = False,
                 new_dataset: bool = False, spool: Optional[str] = None,
                 spool_bound_bytes: int = 0, policy: str = "fail-closed", plan_varies: bool = False,
                 state_key: Optional[str] = None, state_folder: Optional[str] = None,
                 open_timeout: float = 0.0, release_timeout: float = 0.0,
                 full_spool_timeout: float = 0.0, close_timeout: float = 0.0,
                 stall_timeout: float = 0.0, ca: Optional[str] = None,
                 certificate: Optional[str] = None, certificate_key: Optional[str] = None,
                 token_file: Optional[str] = None, log_key: Optional[str] = None) -> None:
        for where, given in (("dataset", dataset), ("unit", unit)):
            if not isinstance(given, str):
                raise WrongType("%s: must be text, got %s" % (where, type(given).__name__),
                                field=where)
        text, real, truth = _client.utf8, _client.real, _wire.truth
        if server is not None and not server:
            raise InvalidArgument("server: must be host:port, got nothing; without a server, "
                                  "leave it out", field="server")
        name = dataset if ledger is None else ledger
        declaration = _client.Declaration(
            dataset=text(dataset, "dataset"), unit_of_privacy=text(unit, "unit"),
            released=text(released, "released"), description=text(description, "description"),
            adjacency=_client.word(adjacency, _client.ADJACENCIES, "adjacency"),
            parameters=_client.word(parameters, _client.PARAMETERS, "parameters"),
            planned_rounds=_client.whole(planned_rounds, "planned_rounds"),
            plan_independent=truth(plan_independent, "plan_independent"),
            budget=text(budget, "budget"), blocks=text(blocks, "blocks"))
        if filter is not None:
            _put_filter(declaration, filter)
        options = _client.RecorderOptions(
            server=text(server, "server"), ledger=text(name, "ledger"),
            writer=text(writer, "writer"), declaration=ctypes.pointer(declaration),
            spool_folder=text(spool, "spool"),
            spool_bound_bytes=_client.whole(spool_bound_bytes, "spool_bound_bytes"),
            policy=_client.word(policy, _client.POLICIES, "policy"),
            plan_varies=truth(plan_varies, "plan_varies"),
            open_timeout_seconds=real(open_timeout, "open_timeout"),
            release_timeout_seconds=real(release_timeout, "release_timeout"),
            full_spool_timeout_seconds=real(full_spool_timeout, "full_spool_timeout"),
            close_timeout_seconds=real(close_timeout, "close_timeout"),
            stall_timeout_seconds=real(stall_timeout, "stall_timeout"), ca=text(ca, "ca"),
            certificate=text(certificate, "certificate"),
            certificate_key=text(certificate_key, "certificate_key"),
            token_file=text(token_file, "token_file"), log_key=text(log_key, "log_key"),
            path=text(path, "path"),
            automatic_grants=truth(automatic_grants, "automatic_grants"),
            new_dataset=truth(new_dataset, "new_dataset"))
        self.keeps_state = state_key is not None
        if state_key is not None:
            options.state = ctypes.pointer(_client.RunState(
                folder=text(state_folder, "state_folder"), key_file=text(state_key, "state_key")))
        elif state_folder is not None:
            raise InvalidArgument("state_folder: needs state_key", field="state_folder")
        pointer = ctypes.c_void_p()
        call("recorder_open", ctypes.byref(options), ctypes.byref(pointer))
        self._hold("recorder", pointer)
        self.planned_rounds, self.adjacency = planned_rounds, adjacency

    def __repr__(self) -> str:
        try:
            return "Recorder(%r, adjacency=%r, planned_rounds=%d)" % (self.name, self.adjacency,
                                                                      self.planned_rounds)
        except Error as freed:
            return "Recorder(%s)" % freed

    @property
    def name(self) -> str:
        """The ledger's full name: projects/{project}/ledgers/{ledger}."""
        return (_client.library().dpledger_recorder_ledger(self._pointer()) or b"").decode()

    def round(self, scheme: SamplingScheme, queries: Union[SumQuery, Sequence[SumQuery]]) -> Round:
        """Records a round with all noised sums on its sample: 1 to 9999 of them. Waits for neither
        disk nor network; in a full spool, for room.

        For trainers with noise of their own: a Privatizer records its rounds itself.
        """
        listed = ([queries] if isinstance(queries, SumQuery)
                  else _wire.listed(queries, "queries", "SumQuery"))
        structs = (_client.SumQuery * max(1, len(listed)))()
        for index, query in enumerate(listed):
            where = "queries[%d]" % index
            if not isinstance(query, SumQuery):
                raise WrongType("%s: must be a SumQuery, got %s" % (where, type(query).__name__),
                                field=where)
            structs[index] = _client.SumQuery(
                group=_client.utf8(query.group, where + ".group") or b"sum",
                l2_norm_bound=_client.real(query.l2_norm_bound, where + ".l2_norm_bound"),
                noise_stddev=_client.real(query.noise_stddev, where + ".noise_stddev"),
                noise=_client.word(query.noise, _client.NOISES, where + ".noise"),
                grid=_client.real(query.grid, where + ".grid"))
        number = ctypes.c_uint64()
        self._call("record_round", ctypes.byref(scheme_struct(scheme)), structs,
                   ctypes.c_size_t(len(listed)), ctypes.byref(number))
        return Round(self, number.value)

    def mechanism(self, event: MechanismEvent) -> Round:
        """Records a mechanism that is no round, such as Laplace(20.0) or a MatrixMechanism.

        Raises InvalidArgument for one out of its domain, WrongType for what is none.
        """
        if isinstance(event, RoundsEvent):
            raise WrongType("event: must be a MechanismEvent, got rounds; those are recorded by "
                            "round(), each before its sum is released",
                            field="event")
        data = _wire.encode(event, "MechanismEvent", "event")
        number = ctypes.c_uint64()
        self._call("record_mechanism", data, ctypes.c_size_t(len(data)), ctypes.byref(number))
        return Round(self, number.value)

    def request_grant(self, plan: Sequence[Union[RoundsEvent, MechanismEvent]]) -> None:
        """Sets aside, of the budget that the ledger is under, what the run may cost in all, in
        place of what it was granted before. A smaller plan gives the rest back.

        plan: at most 64 events: a RoundsEvent for equal rounds, and other mechanisms

        Raises Error: FAILED_PRECONDITION with the reason BUDGET_EXCEEDED if it does not fit,
        GRANT_BELOW_SPENT if the run has spent more, NO_BUDGET.
        """
        events = _wire.listed(plan, "plan", "events")
        data = _wire.encode(BudgetGrant(budget="", ledger="", plan=events, reason="", blocks=[]))
        self._call("request_grant", data, ctypes.c_size_t(len(data)))

    def undelivered(self) -> int:
        """How many batches (a round is one) the ledger has not acknowledged yet."""
        batches = ctypes.c_uint64()
        self._call("drain_status", ctypes.byref(batches), None)
        return batches.value

    def _store(self) -> Store:
        pointer = ctypes.c_void_p()
        self._call("store", ctypes.byref(pointer))
        return Store.held(pointer)

    def close(self) -> None:
        """Ends this writer's part of the ledger, also where an earlier process wrote all of it, and
        waits until everything is delivered. It can never be opened again, unless it has no entry.
        After an Error it may be called again."""
        self._call("close")

    def seal(self) -> None:
        """Closes this writer, and then the ledger: nothing can be appended to it any more, and of a
        budget it keeps what it has spent.

        Raises Error: FAILED_PRECONDITION while another writer has not closed.
        """
        self._call("seal")

    def leave(self) -> None:
        """Lets go without an end: the next process that opens the ledger under this writer's name
        carries on. Calls of other threads that are under way end first, and keep spool and folder
        until then; so do the samplers and sums that were made with it, as long as they live."""
        self._give_up()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: Any) -> None:
        if os.getpid() != self._process:
            return  # a forked worker that ends
        try:
            if kind is None and not self._given_up:
                self.close()
        finally:
            self.leave()


def _recorder_or_none(value: Any) -> None:
    """WrongType for an argument `recorder` that is another thing."""
    if value is not None and not isinstance(value, Recorder):
        raise WrongType("recorder: must be a dpledger.Recorder, got %s" % type(value).__name__,
                        field="recorder")


# What stands behind the kind's name, in this order.
_FILTER_MEMBERS = {"mixture": ("filter_bound", "filter_delta"),
                   "rdp": ("filter_order", "filter_bound"), "zcdp": ("filter_bound",),
                   "gdp": ("filter_bound",)}


def _put_filter(declaration: Any, filter: Tuple[Any, ...]) -> None:
    if not isinstance(filter, (tuple, list)) or not filter or filter[0] not in _client.FILTERS or (
            len(filter) != 1 + len(_FILTER_MEMBERS[filter[0]])):
        raise InvalidArgument(
            'filter: must be ("mixture", epsilon, delta), ("rdp", order, epsilon), '
            '("zcdp", rho) or ("gdp", mu), got %r' % (filter,),
            field="filter")
    declaration.filter = _client.FILTERS[filter[0]]
    for position, member in enumerate(_FILTER_MEMBERS[filter[0]], 1):
        setattr(declaration, member, _client.real(filter[position], "filter[%d]" % position))


class Sampler(Handle):
    """Draws samples exactly by a scheme, which it then says to the ledger. For one thread at a
    time.

    scheme: Poisson, WithoutReplacement, FullBatch, DisjointBatches or RandomAllocation, with its
        population_size; epochs are counted by the sampler
    recorder: one that keeps state: an epoch that a killed process was in is carried on with the
        same partition
    non_private_seed: samples that anyone can predict, for tests only; the ledger says so, and its ε
        is infinite
    """

    def __init__(self, scheme: SamplingScheme, *, recorder: Optional[Recorder] = None,
                 non_private_seed: Optional[int] = None) -> None:
        _recorder_or_none(recorder)
        self.scheme = scheme
        struct, pointer = scheme_struct(scheme), ctypes.c_void_p()
        if non_private_seed is not None:
            call("sampler_create_non_private_for_testing", ctypes.byref(struct),
                 ctypes.c_uint64(_client.whole(non_private_seed, "non_private_seed")),
                 ctypes.byref(pointer))
        elif recorder is not None and recorder.keeps_state:
            call("sampler_create_resumable", ctypes.byref(struct), recorder._pointer(),
                 ctypes.byref(pointer))
        else:
            call("sampler_create", ctypes.byref(struct), ctypes.byref(pointer))
        self._hold("sampler", pointer)
        self._size = 0

    @property
    def draws(self) -> int:
        """How many samples were drawn so far: the number of the last draw."""
        return int(_client.library().dpledger_sampler_draws(self._pointer()))

    def draw(self) -> List[int]:
        """The next sample: ascending indices in [0, population_size). They are secret, and so,
        where it is random, is their number."""
        sample, size = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        self._call("draw", ctypes.byref(sample), ctypes.byref(size))
        self._size = size.value  # a secret, which a step's rows are compared with
        return sample[:size.value] if size.value else []
