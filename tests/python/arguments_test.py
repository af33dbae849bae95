"""Wrong arguments of every public callable: each is an error of the package that names one.

A walk: each argument of a call that is right is replaced by values of every kind. ./test asks a
few of them, the same in each run; DPLEDGER_ALL_CASES=1 asks all (minutes).
"""
import contextlib
import decimal
import fractions
import gc
import io
import math
import os
import pathlib
import random
import tempfile
import unittest
import warnings

import support

try:
    import numpy
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
import accounting_test
import dpledger
import dpledger.numpy
import dpledger.torch as exact
import zoo  # which finds Opacus, or the stand-in
from dpledger import sums

engines = zoo.engines
VALUES = [
    None, True, False, "word", "", b"x", 1.5, -1, 0, 3, -0.0, math.nan, math.inf, -math.inf,
    10 ** 400, 1e300, 2 ** 53, 2 ** 63, 2 ** 64, [], {}, (), object(), [1, "a"], [None], ["a"],
    {"a": 1}, numpy.float32(1.5), numpy.int64(-3), numpy.bool_(True), numpy.array([1., 2.]),
    numpy.array([]), numpy.array(["a"]), torch.tensor(1.), torch.tensor([1., 2.]), torch.zeros(0),
    torch.zeros(2, 2, requires_grad=True), int, "\ud800", "a\0b", 1 + 2j, decimal.Decimal("NaN"),
    fractions.Fraction(1, 3), range(3), dpledger.Poisson(0.1), dpledger.Gaussian,
    torch.nn.Linear(2, 2), "1/0", "3/0"]
RUN = dict(noise_multiplier=1.0, sample_rate=0.01, steps=10)
OPTIONS = dict(adjacency="zero-out", parameters="fixed", method="best", relative_gap=1e-4,
               group_size=1)
SHUFFLED = dict(scheme="shuffled", batch_size=2, population=10, epochs=1.5, adjacency="zero-out")
OF_OPACUS = ("PrivacyEngine", "make_private", "make_private_with_epsilon")
GROUPS = [sums.ClipGroup("all", 8, 1.0)]
X, Y = zoo.points().tensors


def questions():
    """(name, call, its arguments) of what answers questions."""
    yield "epsilon", dpledger.epsilon, dict(RUN, delta=1e-5, **OPTIONS)
    yield "epsilon", dpledger.epsilon, dict(SHUFFLED, noise_multiplier=1.0, delta=1e-5)
    yield "epsilon", dpledger.epsilon, dict(events=[dpledger.Gaussian(1.0)], delta=1e-5)
    yield "delta", dpledger.delta, dict(RUN, epsilon=1.0, **OPTIONS)
    yield "profile", dpledger.profile, dict(RUN, epsilons=[1.0])
    yield "profile", dpledger.profile, dict(events=dpledger.Gaussian(9.0), deltas=[1e-5],
                                            type_one_errors=[0.1], priors=[0.5],
                                            gaussian_least_delta=1e-9)
    yield "calibrate", dpledger.calibrate, dict(target_epsilon=1.0, delta=1e-5, sample_rate=0.01,
                                                steps=10, compare_methods=False, **OPTIONS)
    yield "calibrate", dpledger.calibrate, dict(SHUFFLED, target_epsilon=1.0, delta=1e-5)
    yield "calibrate", dpledger.calibrate, dict(
        target_epsilon=1.0, delta=1e-5, events=dpledger.Gaussian(1.0),
        hole="events[0].noise_multiplier", spent=[dpledger.Gaussian(9.0)])
    yield "tuning", dpledger.tuning, dict(RUN, delta=1e-5, trials=dpledger.FixedTrials(3))
    yield "statement", dpledger.statement, dict(population=1000, batch_size=10, epochs=1,
                                                noise_multiplier=1.0, delta=1e-5,
                                                max_examples_per_user=2)
    yield "audit", dpledger.audit, dict(evidence=dpledger.OneRunAudit(100, 20, 19), delta=1e-5,
                                        events=[dpledger.Gaussian(1.0)], confidence=0.9)
    yield "dp_sgd", dpledger.dp_sgd, dict(RUN)
    yield "to_json", dpledger.epsilon(**RUN, delta=1e-5).to_json, dict(indent=2)
    for event in accounting_test.Events.ALL:
        kind = type(event)

        def asked(kind=kind, **fields):
            return dpledger.epsilon(kind(**fields), delta=1e-5, adjacency="zero-out")
        yield kind.__name__, asked, fields_of(event)


def fields_of(message):
    return {name: getattr(message, name) for _, name, _, _ in message._wire + message._beside}


def recorders(folder, ledger):
    """The same of what records, and of what reads ledgers."""
    query = dpledger.SumQuery(1.0, 1.0)

    def opened(path=None, **options):
        dpledger.Recorder(path=str(new(folder)) if path is None else path, **options).leave()
    yield "Recorder", opened, dict(
        path=None, dataset="d", unit="u", ledger="l", writer="w", adjacency="zero-out",
        parameters="fixed", planned_rounds=3, plan_independent=False, released="x",
        description="d", filter=None, budget=None, blocks=None, automatic_grants=False,
        new_dataset=False, spool_bound_bytes=0, policy="fail-closed", plan_varies=False,
        state_key=None, state_folder=None, open_timeout=1.0, release_timeout=1.0,
        full_spool_timeout=1.0, close_timeout=1.0, stall_timeout=1.0)
    yield "round", ledger.round, dict(scheme=dpledger.Poisson(0.1, 10), queries=[query])
    yield "mechanism", ledger.mechanism, dict(event=dpledger.Gaussian(1.0))
    yield "request_grant", ledger.request_grant, dict(plan=[dpledger.Gaussian(1.0)])
    yield "epsilon", ledger.epsilon, dict(delta=1e-5)
    yield "export", ledger.export, dict(file=str(new(folder)))
    for name in ("undelivered", "close", "leave"):
        yield name, getattr(ledger, name), {}
    yield "Sampler", dpledger.Sampler, dict(scheme=dpledger.Poisson(0.1, 10), recorder=ledger,
                                            non_private_seed=3)
    for scheme in (dpledger.Poisson(0.1, 10), dpledger.WithoutReplacement(2, 10),
                   dpledger.DisjointBatches(2, 0, 10), dpledger.TruncatedPoisson(0.1, 5, 10),
                   dpledger.RandomAllocation(2, 1, False, 0, 10)):
        kind = type(scheme)
        fields = dict(fields_of(scheme), population_size=10)
        yield kind.__name__, lambda kind=kind, **given: ledger.round(kind(**given), query), fields
        yield kind.__name__, lambda kind=kind, **given: dpledger.Sampler(kind(**given)), fields
    yield "SumQuery", lambda **given: ledger.round(dpledger.FullBatch(9), dpledger.SumQuery(
        **given)), fields_of(query)
    finished = new(folder)
    with dpledger.Recorder(path=str(finished), dataset="d", unit="u") as other:
        other.round(dpledger.Poisson(0.1, 10), query).await_releasable()
    store = dpledger.open(finished)
    name = store.ledgers[0].name
    yield "open", lambda *given, path=(), **named: dpledger.open(*given, path, **named), dict(
        path=str(finished))
    yield "Store.epsilon", store.epsilon, dict(delta=1e-5, ledger=name, method="best",
                                               relative_gap=1e-4, group_size=1)
    yield "Store.epsilon", store.epsilon, dict(delta=1e-5, dataset="d")
    yield "Store.delta", store.delta, dict(epsilon=1.0, ledger=name)
    yield "Store.profile", store.profile, dict(epsilons=[1.0], type_one_errors=[0.1], priors=[0.1],
                                               ledger=[name])
    yield "Store.entries", lambda **given: list(store.entries(**given)), dict(ledger=name)
    yield "Store.statement", store.statement, dict(ledger=name, delta=1e-5)
    yield "Store.verify", store.verify, dict(ledger=name, keys=())
    yield "Store.export", store.export, dict(file=str(new(folder)), ledger=name)


def new(folder):
    return pathlib.Path(tempfile.mkdtemp(dir=folder)) / "ledger"


def summers(ledger):
    """The same of exact sums."""
    of_sum = dict(groups=GROUPS, noise_multiplier=1.0, allocation="proportional",
                  microbatches=False, threads=0)
    yield "Sum", sums.Sum, of_sum
    yield "Privatizer", sums.Privatizer, dict(of_sum, recorder=ledger, non_private_seed=3)
    yield "ClipGroup", lambda **given: sums.Sum([sums.ClipGroup(**given)], 1.0), dict(
        name="all", size=8, clip_norm=1.0)

    def begun(made):
        made.begin(dpledger.FullBatch(6))
        return made
    total = lambda: begun(sums.Privatizer(GROUPS, 1.0, ledger))  # noqa: E731
    yield "begin", lambda **given: sums.Privatizer(GROUPS, 1.0, ledger).begin(**given), dict(
        sample=dpledger.FullBatch(6), draw=None)
    yield "accumulate", lambda **given: total().accumulate(**given), dict(
        rows=numpy.zeros((2, 8), numpy.float32), norms=[1.0, 1.0])
    yield "add_sums", lambda **given: total().add_sums(**given), dict(
        sums=numpy.zeros(8, numpy.int64), rows=1)
    yield "finish", lambda **given: total().finish(**given), {}
    arrays = dict(parameters=[(4, 2), (3,)], noise_multiplier=1.0, max_grad_norm=[1.0, 2.0],
                  recorder=ledger, threads=0, allocation="proportional", non_private_seed=3)
    yield "numpy.ExactSum", dpledger.numpy.ExactSum, arrays
    yield "torch.ExactSum", exact.ExactSum, dict(arrays, on_device=False)
    yield "torch.ExactSum", exact.ExactSum, dict(
        arrays, max_grad_norm=1.0, clip_groups=[("a", 1, 1.0), ("b", 1, 1.0)])
    yield "numpy.add", lambda **given: begun(dpledger.numpy.ExactSum(
        [(4, 2)], 1.0, 1.0, ledger)).add(**given), dict(
            gradients=[numpy.zeros((2, 4, 2), numpy.float32)], norms=numpy.zeros((2, 1)))
    yield "torch.add", lambda **given: begun(exact.ExactSum([(4, 2)], 1.0, 1.0, ledger)).add(
        **given), dict(gradients=[torch.zeros(2, 4, 2)], examples=2,
                       norms=torch.zeros(2, 1, dtype=torch.float64))
    yield "GhostSum", exact.GhostSum, dict(layers=[zoo.linear()], noise_multiplier=1.0,
                                           max_grad_norm=1.0, recorder=ledger, resolution=8.0)
    yield "GhostSum.add", lambda **given: begun(exact.GhostSum(
        [zoo.linear()], 1.0, 1.0, ledger)).add(**given), dict(
            pairs=[(torch.zeros(2, 4), torch.zeros(2, 2))])
    yield "ghost_clip_and_sum", exact.ghost_clip_and_sum, dict(
        inputs=torch.zeros(2, 3, 4), errors=torch.zeros(2, 3, 2), clip_norm=1.0, bound=1000,
        resolution=8.0)
    yield "clip_and_sum", exact.clip_and_sum, dict(blocks=[torch.zeros(2, 3)], clip_norm=1.0,
                                                   bound=1000)
    yield "row_norms", exact.row_norms, dict(blocks=[torch.zeros(2, 3)])
    yield "SharedSum", exact.SharedSum, dict(parameters=[(4, 2)], noise_multiplier=1.0,
                                             max_grad_norm=1.0, recorder=ledger)


def trainers(ledger):
    """The same of samplers, optimizers and engines."""
    drawn = dict(population=20, recorder=ledger, non_private_seed=3)
    yield "Poisson", exact.PoissonBatchSampler, dict(drawn, probability=0.1, steps=3, records=19)
    yield "FixedSize", exact.FixedSizeBatchSampler, dict(drawn, batch_size=2, steps=3)
    yield "Shuffled", exact.ShuffledBatchSampler, dict(drawn, batches_per_epoch=2, epochs=2)
    yield "Allocated", exact.AllocatedBatchSampler, dict(drawn, rounds_per_epoch=2, epochs=2,
                                                         records=19)
    yield "FullBatch", exact.FullBatchSampler, dict(population=20, steps=3, records=19,
                                                    recorder=ledger)
    yield "has_records", exact.PoissonBatchSampler(20, 0.1, steps=2).has_records, dict(
        records=20, name="records")
    sampler = exact.PoissonBatchSampler(20, 0.1, steps=2)
    yield "data_loader", exact.data_loader, dict(dataset=zoo.points(), sampler=sampler,
                                                 num_workers=0)

    def optimizer(optimizer=None, **given):
        inner = torch.optim.SGD(zoo.linear().parameters(), lr=0.1)
        return exact.PrivateOptimizer(inner if optimizer is None else optimizer, **given)
    made = dict(recorder=ledger, scheme=dpledger.FullBatch(20), noise_multiplier=1.0,
                max_grad_norm=1.0, expected_batch_size=20.0)
    yield "PrivateOptimizer", optimizer, dict(made, optimizer=None, sampler=None, model=None,
                                              public_state=(), threads=0, on_device=False,
                                              non_private_seed=3)

    def ready():
        model = zoo.linear()
        found = optimizer(torch.optim.SGD(model.parameters(), lr=0.1), **made)
        exact.per_example(model, loss_reduction="sum")
        zoo.sum_loss(model, (X, Y)).backward()
        return found
    yield "step", lambda **given: ready().step(**given), dict(closure=None, empty=False)
    yield "accumulate", lambda **given: ready().accumulate(**given), dict(examples=3)
    yield "load_state_dict", ready().load_state_dict, dict(state_dict=ready().state_dict())
    yield "per_example", exact.per_example, dict(model=zoo.linear(), loss_reduction="sum")
    yield "check_model", exact.check_model, dict(model=zoo.linear())
    yield "gradients", lambda **given: exact.gradients(
        loss=torch.nn.functional.cross_entropy, targets=Y, **given), dict(
            model=zoo.linear(), inputs=X, chunk_size=2)
    yield "PrivacyEngine", engines.PrivacyEngine, dict(recorder=ledger, scheme=None,
                                                       sampler="dpledger", population=20)
    engine = engines.PrivacyEngine(recorder=ledger, population=20)
    loader = torch.utils.data.DataLoader(zoo.points(), batch_size=2)
    inner = torch.optim.SGD(zoo.linear().parameters(), lr=0.1)
    whole = dict(module=zoo.linear(), optimizer=inner, data_loader=loader)
    yield "make_private", lambda **given: engine.make_private(
        noise_multiplier=1.0, max_grad_norm=1.0, **dict(whole, **given)), whole
    yield "make_private_with_epsilon", lambda **given: engine.make_private_with_epsilon(
        max_grad_norm=1.0, **dict(whole, **given)), dict(
            whole, target_epsilon=1.0, target_delta=1e-5, epochs=2)
    yield "drawn_rate", engines.drawn_rate, dict(sample_rate=0.1)
    yield "scheme_of", engines.scheme_of, dict(loader=loader)


class Arguments(support.WithFolder):
    def setUp(self):
        super().setUp()
        self.choice = random.Random(20)
        self.ledger = dpledger.Recorder(path=str(new(self.folder)), dataset="d", unit="u")
        self.addCleanup(gc.collect)  # of what holds the ledger too
        self.addCleanup(self.ledger.leave)
        here = os.getcwd()
        os.chdir(self.folder)  # some values are names of files
        self.addCleanup(os.chdir, here)

    def wrong(self, call, given):
        """What is wrong with how the call refuses these arguments; None if it takes them."""
        try:
            with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                call(**given)
        except dpledger.Error as refused:
            named = refused.field or not isinstance(refused, (ValueError, TypeError))
            return None if str(refused) and named else "names no argument: %s" % refused
        except Exception as bare:
            return "%s: %s" % (type(bare).__name__, bare)
        return None

    def walk(self, calls):
        asked, found = 0, []
        for name, call, right in calls:
            every = [(argument, value) for argument in right for value in VALUES]
            if "DPLEDGER_ALL_CASES" not in os.environ:
                every = self.choice.sample(every, min(len(every), 12 + len(right)))
            for argument, value in every + [("nonsense", 1)]:
                if name in OF_OPACUS and argument == "nonsense":
                    continue  # it goes on to Opacus
                text = self.wrong(call, dict(right, **{argument: value}))
                asked += 1
                if text is not None:
                    found.append("%s(%s=%.40r): %s" % (name, argument, value, text))
        self.assertGreater(asked, 100)
        self.assertEqual(found, [], "\n".join(found))

    def test_of_questions(self):
        self.walk(questions())

    def test_of_recorders_and_stores(self):
        self.walk(recorders(self.folder, self.ledger))

    def test_of_sums(self):
        self.walk(summers(self.ledger))

    def test_of_trainers(self):
        self.walk(trainers(self.ledger))

    def test_the_walk_sees_bare_errors(self):
        for call, text in ((lambda nonsense: None, "TypeError"), (lambda **_: [][1], "IndexError"),
                           (lambda **_: self.fail_without_a_name(), "names no argument")):
            with self.assertRaisesRegex(AssertionError, text):
                self.walk([("planted", call, dict(other=1))] * 20)

    def fail_without_a_name(self):
        raise dpledger.InvalidArgument("no")

    def test_calls_that_python_refuses_say_what_is_right(self):
        for call, text in (
                (lambda: self.ledger.round(dpledger.Poisson(0.1), dpledger.SumQuery(1.0, 1.0), 100),
                 "^Recorder.round: takes scheme, queries without a name, and no more$"),
                (lambda: self.ledger.epsilon(1e-5),
                 "^Recorder.epsilon: takes nothing without a name; write the others as delta="),
                (lambda: dpledger.Recorder(), "^dataset: Recorder needs it: write dataset=...$"),
                (lambda: exact.PoissonBatchSampler(10, q=0.1, steps=3),
                 "^q: is no argument of PoissonBatchSampler; did you mean probability[?]$"),
                (lambda: exact.PoissonBatchSampler(10, 0.1, population=10, steps=3),
                 "^population: is given twice$"),
                (lambda: exact.per_example(zoo.linear(), reduction="sum"),
                 "^reduction: is no argument of per_example; did you mean loss_reduction[?]$")):
            with self.subTest(text), self.assertRaisesRegex(dpledger.WrongType, text) as caught:
                call()
            self.assertIsInstance(caught.exception, TypeError)

    def test_flags_are_not_texts(self):
        """ "False" would be True."""
        with self.assertRaisesRegex(dpledger.WrongType,
                                    "^plan_independent: must be True or False, got 'False'"):
            dpledger.Recorder(path=str(new(self.folder)), dataset="d", unit="u",
                              plan_independent="False")


if __name__ == "__main__":
    unittest.main()
