"""The ledger from Python, on a server and in a folder: rounds, resumption, refusals, forks, a
server that is away."""
import base64
import copy
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import unittest
import weakref

import support
import dpledger
from dpledger import _client, sums

QUERY = dpledger.SumQuery(1.0, 2.0, group="weights")
SCHEME = dpledger.Poisson(0.1, population_size=1000)
KILLED_TRAINER = textwrap.dedent("""
    import json, os, signal, sys
    import support, dpledger
    place, rounds, dies = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "dies"
    with dpledger.Recorder(dataset="points", unit="point", ledger="killed", **place) as ledger:
        for step in range(rounds):
            recorded = ledger.round(dpledger.Poisson(0.1, 1000), dpledger.SumQuery(1.0, 2.0))
            recorded.await_releasable()
            print(step, flush=True)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
""")


class Recording:
    """What holds wherever the ledger is."""

    def test_rounds_are_in_the_ledger_and_cost_what_they_are(self):
        with self.recorder("rounds", planned_rounds=3) as ledger:
            self.assertEqual(ledger.name, "projects/default/ledgers/rounds")
            for _ in range(3):
                ledger.round(SCHEME, [QUERY]).await_releasable()
            self.assertEqual(ledger.undelivered(), 0)
            spent = ledger.epsilon(delta=1e-5)
        truth = support.epsilon_by_program(noise_multiplier=2, sample_rate=0.1, steps=3, delta=1e-5)
        self.assertLessEqual(truth["lower"], spent.epsilon.upper)
        self.assertGreaterEqual(spent.epsilon.upper, truth["upper"] * (1 - 1e-3))
        self.assertEqual(len(bytes.fromhex(spent.root)), 32)
        self.assertIsNone(spent.planned_epsilon)
        self.program("ledger", "verify", "rounds", "--self-signed")

    def test_a_question_covers_every_round_that_was_recorded(self):
        # 200 rounds under way were answered [0, 0].
        with self.recorder("under-way") as ledger:
            for _ in range(200):
                ledger.round(SCHEME, QUERY)
            spent = ledger.epsilon(delta=1e-5)
            self.assertEqual(ledger.undelivered(), 0)
        truth = support.epsilon_by_program(noise_multiplier=2, sample_rate=0.1, steps=200,
                                           delta=1e-5)
        self.assertLessEqual(truth["lower"], spent.epsilon.upper)
        self.assertGreaterEqual(spent.epsilon.upper, truth["upper"] * (1 - 1e-3))

    def test_what_records_nothing_leaves_the_ledger_as_it_was(self):
        # Opening it to read it appended an entry, and so changed its root.
        def state():
            with self.recorder("unread", writer="reader") as ledger:
                return ledger.epsilon(delta=1e-5).root, list(ledger.entries())
        with self.recorder("unread") as ledger:
            ledger.round(SCHEME, QUERY).await_releasable()
        first = state()
        self.assertEqual(first, state())
        with self.recorder("unread", writer="reader") as ledger:  # the control
            ledger.round(SCHEME, QUERY).await_releasable()
        with self.recorder("unread", writer="third") as ledger:
            entries = list(ledger.entries())
        self.assertEqual(entries[:len(first[1])], first[1])
        self.assertIn("opened", entries[len(first[1])])

    def test_a_recorder_answers_what_a_store_answers(self):
        with self.recorder("asked") as ledger:
            for _ in range(20):
                ledger.round(SCHEME, QUERY)
            run = dpledger.RoundsEvent(SCHEME, (QUERY,), 20)
            alone = dpledger.epsilon(run, delta=1e-5)
            for found, truth in (
                    (ledger.epsilon(delta=1e-5), alone),
                    (ledger.epsilon(delta=1e-5, group_size=2),
                     dpledger.epsilon(run, delta=1e-5, group_size=2)),
                    (ledger.delta(epsilon=0.5), dpledger.delta(run, epsilon=0.5)),
                    (ledger.profile(deltas=[1e-5]).points[0].epsilon, alone.epsilon)):
                self.assertLess(abs(float(found) / float(truth) - 1), 1e-3)
            self.assertEqual(len([entry for entry in ledger.entries() if "event" in entry]), 40)
            rest = dpledger.calibrate(target_epsilon=3.0, delta=1e-5, spent=ledger,
                                      sample_rate=0.1, steps=20)
            self.assertAlmostEqual(rest.value, dpledger.calibrate(
                target_epsilon=3.0, delta=1e-5, spent=run, sample_rate=0.1, steps=20).value, 3)
            ledger.seal()
            self.assertAlmostEqual(float(ledger.epsilon(delta=1e-5)), float(alone), 3)
            with self.assertRaisesRegex(dpledger.Error, "ledger: .* is sealed"):
                self.recorder("asked", writer="late").close()
        with self.assertRaisesRegex(dpledger.Error, "recorder: has been freed"):
            ledger.delta(epsilon=0.5)

    def test_a_recorder_is_asked_about_all_ledgers_over_a_data_set(self):
        # A folder's said that it knew no data sets.
        options = dict(dataset="shared", plan_independent=True)
        with self.recorder("shared-1", **options) as ledger:
            ledger.round(SCHEME, QUERY)
            alone = ledger.epsilon(delta=1e-5, dataset="shared")
            with self.recorder("shared-2", writer="second", **options) as second:
                second.round(SCHEME, QUERY).await_releasable()
                both = ledger.epsilon(delta=1e-5, dataset="shared")
            self.assertEqual([one.name[-8:] for one in both.details.ledgers],
                             ["shared-1", "shared-2"])
            self.assertGreater(float(both), float(alone))
            self.assertEqual(float(alone), float(ledger.epsilon(delta=1e-5)))
            with self.assertRaisesRegex(dpledger.Error, 'dataset: no ledger .* "shares"'):
                ledger.epsilon(delta=1e-5, dataset="shares")

    def test_answers_say_whether_samples_were_drawn_or_are_stated(self):
        stated = "the samples of %s are as the trainer stated them, not tied to the draw"
        with self.recorder("drawn") as ledger:
            total = sums.Privatizer([sums.ClipGroup("all", 1, 1.0)], 2.0, ledger)
            sampler = dpledger.Sampler(SCHEME)
            sampler.draw()
            total.begin(sampler)
            total.finish()
            self.assertNotIn("as the trainer stated",
                             " ".join(ledger.epsilon(delta=1e-5).assumptions))
            for count, said in ((1, "1 round"), (2, "2 rounds")):
                total.begin(SCHEME)
                total.finish()
                self.assertIn(stated % said, " ".join(ledger.epsilon(delta=1e-5).assumptions))

    def test_draws_run_ahead_of_rounds_and_have_one_each(self):
        with self.recorder("ahead") as ledger:
            total = sums.Privatizer([sums.ClipGroup("all", 1, 1.0)], 2.0, ledger)
            sampler = dpledger.Sampler(dpledger.FullBatch(3))
            with self.assertRaisesRegex(dpledger.Error, "sampler: has no fresh sample"):
                total.begin(sampler)
            for _ in range(3):
                sampler.draw()
            self.assertEqual(sampler.draws, 3)
            total.begin(sampler, draw=2)
            with self.assertRaisesRegex(dpledger.InvalidArgument,
                                        "rows: must not be more than the sample has records"):
                total.accumulate(sums.array.array("f", [1.0] * 4))
            total.accumulate(sums.array.array("f", [1.0] * 3))
            total.finish()
            for used in (1, 2):
                with self.assertRaisesRegex(dpledger.Error, "sampler: has no fresh sample"):
                    total.begin(sampler, draw=used)
            total.begin(sampler)
            total.finish()
            with self.assertRaisesRegex(dpledger.InvalidArgument,
                                        "draw: goes with a dpledger.Sampler"):
                total.begin(SCHEME, draw=1)

    def test_every_scheme_is_taken(self):
        of_removal = (dpledger.Poisson(0.5), dpledger.FullBatch())
        of_replacement = (dpledger.WithoutReplacement(10, 1000), dpledger.WithReplacement(10, 1000),
                          dpledger.DisjointBatches(4, 0, 1000))
        for adjacency, schemes in (("add-or-remove-one", of_removal),
                                   ("replace-one", of_replacement)):
            with self.recorder(adjacency, adjacency=adjacency, plan_varies=True,
                               spool=str(self.folder / adjacency)) as ledger:
                for scheme in schemes:
                    ledger.round(scheme, QUERY).await_releasable()
                ledger.mechanism(dpledger.Gaussian(3.0, count=2)).await_releasable()
                self.assertEqual(ledger.undelivered(), 0)
                # A restart or the like aside, each has its entry.
                self.assertGreaterEqual(ledger.epsilon(delta=1e-5).entries, len(schemes) + 1)

    def test_a_closed_writer_stays_closed(self):
        with self.recorder("closed") as ledger:
            ledger.round(SCHEME, QUERY)
        with self.assertRaises(dpledger.Error) as caught:
            self.recorder("closed", spool=str(self.folder / "other"))
        self.assertEqual(caught.exception.code, "FAILED_PRECONDITION")

    def test_an_exception_leaves_the_writer_open_for_a_resume(self):
        with self.assertRaisesRegex(ZeroDivisionError, "the trainer's own"):
            with self.recorder("resumed") as ledger:
                ledger.round(SCHEME, QUERY).await_releasable()
                raise ZeroDivisionError("the trainer's own")
        with self.recorder("resumed") as ledger:
            ledger.round(SCHEME, QUERY).await_releasable()
            self.assertGreater(ledger.epsilon(delta=1e-5).epsilon.upper, 0)

    def test_kill_9_and_a_resume_cost_at_least_every_release(self):
        def run(rounds, word):
            return subprocess.run([sys.executable, "-c", KILLED_TRAINER, json.dumps(self.place()),
                                   str(rounds), word],
                                  capture_output=True, text=True, timeout=120,
                                  cwd=str(support.pathlib.Path(__file__).parent))
        died = run(3, "dies")
        self.assertEqual(died.returncode, -signal.SIGKILL, died.stderr)
        self.assertEqual(died.stdout.split(), ["0", "1", "2"])
        ended = run(2, "ends")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        cost = self.program("epsilon", "--delta", "1e-5", "--ledger", "killed", "--json")
        truth = support.epsilon_by_program(noise_multiplier=2, sample_rate=0.1, steps=5, delta=1e-5)
        self.assertGreaterEqual(json.loads(cost)["epsilon"]["upper"], truth["lower"])
        self.program("ledger", "verify", "killed", "--self-signed")

    def test_adaptive_ledgers_keep_to_their_filter_and_spools_release_alone(self):
        for kind, shown in ((("rdp", 8.0, 2.5), "epsilon of order 8 (rdp)"),
                            (("zcdp", 0.5), "rho (zcdp)"),
                            (("gdp", 1.5), "mu (gdp)"),
                            (("mixture", 3.5, 1e-5), "epsilon at delta 1e-05 (mixture)")):
            with self.recorder("filter-" + kind[0], parameters="adaptive", filter=kind,
                               policy="spool", spool=str(self.folder / kind[0]),
                               plan_varies=True) as ledger:
                ledger.round(dpledger.FullBatch(), dpledger.SumQuery(1.0, 20.0)).await_releasable()
                ledger.round(dpledger.FullBatch(), dpledger.SumQuery(1.0, 30.0)).await_releasable()
            told = json.loads(self.program(
                "epsilon", "--delta", "1e-5", "--ledger", "filter-" + kind[0], "--json"))
            spending = json.dumps(told)
            self.assertIn(shown, spending)
            self.assertIn('"bound": %s' % kind[1 if kind[0] == "mixture" else -1], spending)

    def test_what_would_cross_the_filter_is_refused_before_its_release(self):
        with self.recorder("kept", parameters="adaptive", filter=("zcdp", 1.0)) as ledger:
            eighth = dpledger.SumQuery(1.0, 2.0)
            released, refused = 0, None
            while refused is None and released < 20:
                try:
                    ledger.round(dpledger.FullBatch(), eighth).await_releasable()
                    released += 1
                except dpledger.Error as error:
                    refused = error
            self.assertEqual((released, refused.code, refused.reason),
                             (8, "FAILED_PRECONDITION", "FILTER_CROSSED"))
            self.assertRegex(str(refused), "1 spent of 1, and 1.125 with the batch; nothing of it")
            self.assertAlmostEqual(ledger.epsilon(delta=1e-5).epsilon.upper, 7.0772, 4)
            # What the eight rounds would have been as a plan: one Gaussian of μ = √2.
            planned = ledger.epsilon(delta=1e-5, as_planned=True)
            truth = dpledger.epsilon(noise_multiplier=0.5 ** 0.5, sample_rate=1, steps=1,
                                     delta=1e-5)
            self.assertAlmostEqual(planned.upper, truth.upper, 6)
            self.assertEqual(planned.regime, "as-planned")
            self.assertIn("No guarantee: ", planned.guarantee)
            self.assertLess(ledger.delta(epsilon=5, as_planned=True).upper,
                            ledger.delta(epsilon=5).upper)
        self.program("ledger", "seal", "kept")  # the writer has closed
        told = json.loads(self.program("epsilon", "--delta", "1e-5", "--ledger", "kept", "--json"))
        self.assertIn("the server acknowledges nothing that would cross", json.dumps(told))

    def test_wrong_rounds_are_named_and_nothing_is_recorded(self):
        with self.recorder("refusals") as ledger:
            for words, kind, scheme, query in (("scheme: must be one of", TypeError, 0.1, QUERY),
                                               ("scheme.probability: must be a number", TypeError,
                                                dpledger.Poisson("often"), QUERY),
                                               ("^scheme.probability: must be in",
                                                ValueError, dpledger.Poisson(math.nan), QUERY),
                                               (r"queries\[0\]: must be a SumQuery", TypeError,
                                                SCHEME, [3]),
                                               (r"queries\[1\].noise_stddev", ValueError, SCHEME,
                                                [QUERY, dpledger.SumQuery(1.0, -1.0)]),
                                               (r"queries\[0\].noise: must be one of", ValueError,
                                                SCHEME, dpledger.SumQuery(1.0, 1.0, noise="loud")),
                                               ("queries|query_count", ValueError, SCHEME, [])):
                with self.subTest(words), self.assertRaisesRegex(kind, words):
                    ledger.round(scheme, query)
            with self.assertRaisesRegex(TypeError, "noise_multiplier: must be a number"):
                ledger.mechanism(dpledger.Gaussian(None))
            with self.assertRaisesRegex(TypeError, "must be a MechanismEvent"):
                ledger.mechanism(SCHEME)
            with self.assertRaisesRegex(TypeError, "delta: must be a number"):
                ledger.epsilon(delta="small")
            with self.assertRaisesRegex(ValueError, "delta"):
                ledger.epsilon(delta=2.0)
            self.assertEqual(ledger.epsilon(delta=1e-5).epsilon.upper, 0)

    def test_refusals_speak_as_arguments_do(self):
        # They said "declare REPLACE_ONE" and "scheme.poisson.probability".
        left = self.recorder("words")
        left.round(SCHEME, QUERY).await_releasable()
        left.leave()
        for words, kind, more, ask in (
                ('^sampling scheme DisjointBatches: .* declared adjacency "add-or-remove-one"; '
                 'give adjacency="replace-one" or adjacency="zero-out"$',
                 dpledger.Error, dict(ledger="others"),
                 lambda ledger: ledger.round(dpledger.DisjointBatches(4), QUERY)),
                ("^event.event.noise_multiplier: must be finite", ValueError, {},
                 lambda ledger: ledger.mechanism(
                     dpledger.SelfComposed(dpledger.Gaussian(-1.0), 2))),
                ('scheme.probability: 0.1 -> 0.2; a run that is declared "fixed" goes on as it '
                 "was, unless plan_varies=True says", dpledger.Error, {},
                 lambda ledger: ledger.round(dpledger.Poisson(0.2, 1000), QUERY)),
                ('modified: adjacency: "add-or-remove-one" -> "zero-out"', dpledger.Error,
                 dict(adjacency="zero-out"), None),
                ('^filter: must be unset unless parameters is "adaptive"', ValueError,
                 dict(filter=("zcdp", 1.0), ledger="others2"), None),
                ("^filter.rho: must be finite", ValueError,
                 dict(filter=("zcdp", -1.0), parameters="adaptive", ledger="others2"), None),
                ("^unit: must be 1 to 256", ValueError, dict(unit="", ledger="others2"), None),
                ("^unit: must be text, got int", TypeError, dict(unit=3), None),
                ("^file: must be given, got None", ValueError, {},
                 lambda ledger: ledger.export(None))):
            with self.subTest(words), self.assertRaisesRegex(kind, words) as caught:
                ledger = self.recorder(**dict(dict(ledger="words"), **more))
                self.addCleanup(ledger.leave)
                ask(ledger)
            self.assertNotRegex(str(caught.exception), r"[A-Z]_[A-Z]|declar(e|ation\.)\b|poisson")
            if kind in (ValueError, TypeError):
                self.assertTrue(str(caught.exception).startswith(caught.exception.field + ":"))
            if ask is not None:
                ledger.leave()

    def test_a_fork_may_not_use_what_its_parent_opened(self):
        ledger, sampler = self.recorder("forked"), dpledger.Sampler(SCHEME)
        freed = []
        # What the child lets go of is its parent's, with threads that it does not have.
        ledger._finalize.detach()
        ledger._finalize = weakref.finalize(ledger, _client._free, freed.append, "in the child",
                                            os.getpid())
        held = ledger._held
        read, write = os.pipe()
        child = os.fork()
        if child == 0:  # says what it met, and ends as a DataLoader's worker does
            said = []
            for use in (lambda: ledger.round(SCHEME, QUERY), sampler.draw,
                        lambda: ledger.epsilon(delta=1e-5)):
                try:
                    use()
                    said.append("went through")
                except dpledger.Error as failed:
                    said.append(failed.code + " " + failed.reason)
            ledger._finalize()
            os.write(write, "; ".join(said + freed).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as told:
            self.assertEqual(told.read(), "; ".join(["FAILED_PRECONDITION FORKED"] * 3))
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        ledger.round(SCHEME, QUERY).await_releasable()
        ledger._finalize()
        self.assertEqual(freed, ["in the child"])
        _client.library().dpledger_recorder_free(held)

    def test_who_leaves_within_the_block_leaves_the_writer_open(self):
        with self.recorder("left") as ledger:
            ledger.round(dpledger.FullBatch(), dpledger.SumQuery(1.0, 2.0)).await_releasable()
            ledger.leave()
        with self.recorder("left") as ledger:
            ledger.round(dpledger.FullBatch(), dpledger.SumQuery(1.0, 2.0)).await_releasable()

    def test_an_empty_server_is_not_taken_for_none(self):
        with self.assertRaisesRegex(ValueError, "server: must be host:port, got nothing"):
            dpledger.Recorder(server="", dataset="d", unit="u", adjacency="add-or-remove-one")

    def test_a_freed_handle_is_refused(self):
        ledger = self.recorder("freed")
        ledger.leave()
        ledger.leave()
        with self.assertRaisesRegex(dpledger.Error, "has been freed"):
            ledger.round(SCHEME, QUERY)

    def test_several_threads_may_record(self):
        with self.recorder("threads") as ledger:
            failed = []

            def work():
                try:
                    for _ in range(20):
                        ledger.round(SCHEME, QUERY)
                except Exception as error:
                    failed.append(error)
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failed, [])
            ledger.round(SCHEME, QUERY).await_releasable()
            self.assertEqual(ledger.undelivered(), 0)

    def test_an_epoch_goes_on_with_the_same_partition_after_a_kill(self):
        key = self.folder / "key"
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        scheme = dpledger.DisjointBatches(4, population_size=40)
        group = [sums.ClipGroup("all", 2, 1.0)]
        drawn = []
        # the second one is another recorder that finds what the first has left
        for rounds in (2, 2):
            ledger = self.recorder("epochs", state_key=str(key), adjacency="replace-one")
            sampler = dpledger.Sampler(scheme, recorder=ledger)
            privatizer = sums.Privatizer(group, 1.0, ledger)
            for _ in range(rounds):
                drawn += sampler.draw()
                privatizer.begin(sampler)
                privatizer.finish()
            del sampler, privatizer
            ledger.leave()
        self.assertEqual(sorted(drawn), list(range(40)))


class OnAServer(Recording, support.WithServer):
    def test_runs_on_other_blocks_have_the_whole_bound_each(self):
        self.program("budget", "create", "regions", "--dataset", "points", "--unit", "point",
                     "--adjacency", "add-or-remove-one", "--filter", "zcdp:1",
                     "--block-assignment", "by region")
        plan = [dpledger.RoundsEvent(dpledger.FullBatch(), [dpledger.SumQuery(1.0, 1.0)], 2)]
        for name, blocks in (("north", "1-6"), ("south", "7,9-12")):
            with self.recorder(name, parameters="adaptive", budget="regions",
                               blocks=blocks) as ledger:
                ledger.request_grant(plan)  # all of the bound
                ledger.round(dpledger.FullBatch(), dpledger.SumQuery(1.0, 1.0)).await_releasable()
        with self.recorder("both", parameters="adaptive", budget="regions",
                           blocks="8-9") as ledger:
            with self.assertRaisesRegex(dpledger.Error, "is granted in block 9"):
                ledger.request_grant(plan)
        with self.assertRaisesRegex(dpledger.Error, "blocks"):
            self.recorder("none", parameters="adaptive", budget="regions", blocks="0-5")
        with self.assertRaisesRegex(dpledger.Error, "blocks"):  # it was made for others
            self.recorder("north", parameters="adaptive", budget="regions", blocks="2-6")

    def test_run_under_a_budget_costs_no_more_than_it_was_granted(self):
        self.program("budget", "create", "budget", "--dataset", "points", "--unit", "point",
                     "--adjacency", "add-or-remove-one", "--filter", "zcdp:1")
        plan = lambda count: dpledger.RoundsEvent(  # noqa: E731
            dpledger.FullBatch(), [dpledger.SumQuery(1.0, 2.0)], count)
        eighth = dpledger.SumQuery(0.5, 1.0)  # rho of 1/8 each
        for name, count in (("first", 6), ("second", 2)):
            with self.recorder(name, parameters="adaptive", budget="budget") as ledger:
                with self.assertRaisesRegex(dpledger.Error, "8 rounds|6 rounds|2 rounds") as over:
                    ledger.request_grant([plan(9)])
                self.assertEqual(over.exception.reason, "BUDGET_EXCEEDED")
                ledger.request_grant([plan(count)])
                for _ in range(count):
                    ledger.round(dpledger.FullBatch(), eighth).await_releasable()
                with self.assertRaisesRegex(dpledger.Error, "than the ledger was granted") as over:
                    ledger.round(dpledger.FullBatch(), eighth).await_releasable()
                self.assertEqual(over.exception.reason, "BUDGET_EXCEEDED")
                with self.assertRaises(dpledger.Error) as below:
                    ledger.request_grant([])
                self.assertEqual(below.exception.reason, "GRANT_BELOW_SPENT")
                self.assertAlmostEqual(ledger.epsilon(delta=1e-5).epsilon.upper, 7.0772, 4)
        # Opened again: the filter that nobody gave is the budget's.
        ledger = self.recorder("third", parameters="adaptive", budget="budget")
        with self.assertRaisesRegex(dpledger.Error, "0 rounds of its last kind fit"):
            ledger.request_grant([plan(1)])
        ledger.leave()
        with self.recorder("third", parameters="adaptive", budget="budget"):
            pass
        with self.assertRaisesRegex(dpledger.Error, "no such ledger"):
            self.recorder("fourth", parameters="adaptive", budget="missing")
        with self.assertRaisesRegex(dpledger.Error, "dataset: must be the budget's"):
            self.recorder("fourth", dataset="other", parameters="adaptive", budget="budget")

    def test_grants_are_raised_as_a_run_goes_and_the_rest_is_given_back(self):
        self.program("budget", "create", "automatic", "--dataset", "points", "--unit", "point",
                     "--adjacency", "add-or-remove-one", "--filter", "zcdp:1")
        once = dpledger.SumQuery(1.0, 10.0)  # rho of 1/200 each
        options = dict(parameters="adaptive", budget="automatic", automatic_grants=True)

        def shown():
            return json.loads(self.program("budget", "show", "automatic", "--json"))
        with self.recorder("short", **options) as ledger:
            for _ in range(50):
                ledger.round(dpledger.FullBatch(), once).await_releasable()
        self.assertAlmostEqual(shown()["spending"]["spent"], 0.25, 9)  # and nothing beside it
        done = 0
        with self.recorder("long", **options) as ledger:
            with self.assertRaisesRegex(dpledger.Error, "asked for more: .*does not fit") as over:
                while done < 300:
                    ledger.round(dpledger.FullBatch(), once).await_releasable()
                    done += 1
            self.assertEqual(over.exception.reason, "BUDGET_EXCEEDED")
            with self.assertRaises(dpledger.Error):  # and the next one too
                ledger.round(dpledger.FullBatch(), once).await_releasable()
        self.assertEqual(done, 150)
        budget = shown()
        self.assertAlmostEqual(budget["spending"]["spent"], 1.0, 9)
        # 8 at first, a sixteenth in the end, and less and less at the bound.
        self.assertLess(int(budget["budget"]["size"]), 45)
        with self.recorder("none", **options) as ledger:
            with self.assertRaisesRegex(dpledger.Error, "asked for more"):
                ledger.round(dpledger.FullBatch(), once).await_releasable()
        with self.assertRaisesRegex(dpledger.Error, "automatic_grants: must be given with"):
            self.recorder("alone", automatic_grants=True)

    def test_what_was_granted_to_a_run_is_kept_while_it_is_open_and_given_back_at_its_end(self):
        # A recorder that had recorded nothing was no writer: its grant stayed for ever after its
        # close, and another writer's close took it away while it was open.
        self.program("budget", "create", "granting", "--dataset", "points", "--unit", "point",
                     "--adjacency", "add-or-remove-one", "--filter", "zcdp:1")
        once = dpledger.SumQuery(1.0, 10.0)  # rho of 1/200
        plan = [dpledger.RoundsEvent(dpledger.FullBatch(), [once], 100)]
        options = dict(parameters="adaptive", budget="granting")

        def granted():
            shown = json.loads(self.program("budget", "show", "granting", "--json"))
            return shown["spending"]["spent"]
        with self.recorder("idle", automatic_grants=True, **options) as ledger:
            ledger.request_grant(plan)
            self.assertAlmostEqual(granted(), 0.5, 9)
        self.assertEqual(granted(), 0.0)
        # As a process that was killed after its last entry leaves it.
        with self.recorder("ended", **options) as ledger:
            ledger.request_grant(plan)
        self.assertAlmostEqual(granted(), 0.5, 9)
        with self.assertRaisesRegex(dpledger.Error, "has closed"):
            self.recorder("ended", automatic_grants=True, **options)
        self.assertEqual(granted(), 0.0)
        with self.recorder("pair", writer="late", **options) as late:
            late.request_grant(plan)
            with self.recorder("pair", writer="early", automatic_grants=True, **options) as early:
                early.round(dpledger.FullBatch(), once).await_releasable()
            self.assertAlmostEqual(granted(), 0.5, 9)
            late.round(dpledger.FullBatch(), once).await_releasable()

    def test_rounds_of_several_writers_that_fit_are_all_taken(self):
        self.program("budget", "create", "shared", "--dataset", "points", "--unit", "point",
                     "--adjacency", "add-or-remove-one", "--filter", "zcdp:1")
        once, told = dpledger.SumQuery(1.0, 10.0), []  # 200 of them fit

        def work(writer):
            with self.recorder("together", writer=writer, parameters="adaptive", budget="shared",
                               automatic_grants=True) as ledger:
                try:
                    while True:
                        ahead = [ledger.round(dpledger.FullBatch(), once) for _ in range(20)]
                        for round in ahead:
                            round.await_releasable()
                            told.append(writer)
                except dpledger.Error as error:
                    self.assertEqual(error.reason, "BUDGET_EXCEEDED")
        threads = [threading.Thread(target=work, args=("w%d" % i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shown = json.loads(self.program("budget", "show", "shared", "--json"))
        self.assertAlmostEqual(shown["spending"]["spent"], 1.0, 9)
        self.assertLessEqual(len(told), 200)

    def test_a_sealed_run_gives_back_what_it_has_not_spent(self):
        self.program("budget", "create", "sealing", "--dataset", "points", "--unit", "point",
                     "--adjacency", "add-or-remove-one", "--filter", "zcdp:1")
        with self.recorder("sealed", parameters="adaptive", budget="sealing") as ledger:
            ledger.request_grant([dpledger.RoundsEvent(dpledger.FullBatch(), [QUERY], 1)])
            ledger.request_grant([dpledger.RoundsEvent(
                dpledger.FullBatch(), [dpledger.SumQuery(1.0, 10.0)], 200)])
            ledger.round(dpledger.FullBatch(), dpledger.SumQuery(1.0, 10.0)).await_releasable()
        self.program("ledger", "seal", "sealed")
        shown = json.loads(self.program("budget", "show", "sealing", "--json"))
        self.assertAlmostEqual(shown["spending"]["spent"], 1 / 200, 9)

    def test_a_data_set_of_nearly_the_same_name_is_a_slip(self):
        with self.recorder("first-hospital", dataset="hospital"):
            pass
        with self.assertRaisesRegex(
                dpledger.Error,
                'no ledger is over "hopsital", and some are over "hospital"') as slip:
            self.recorder("slip", dataset="hopsital")
        self.assertEqual(slip.exception.reason, "DATASET_NEARLY_EXISTS")
        with self.recorder("slip", dataset="hopsital", new_dataset=True):
            pass
        with self.recorder("later", dataset="hopsital"):  # it exists now
            pass

    def test_an_address_is_taken_as_browsers_copy_it(self):
        with self.recorder("copied", server="http://%s/" % self.server.address) as ledger:
            ledger.round(SCHEME, QUERY).await_releasable()
        with self.assertRaisesRegex(dpledger.Error, "server: must be host:port"):
            self.recorder("copied", server="http://%s/page" % self.server.address)

    def test_the_environment_says_where_the_server_is(self):
        os.environ["DPLEDGER_SERVER"] = self.server.address
        self.addCleanup(os.environ.pop, "DPLEDGER_SERVER")
        with self.recorder("environment", server=None) as ledger:
            ledger.round(SCHEME, QUERY).await_releasable()
        os.environ["DPLEDGER_TOKEN_FILE"] = str(self.folder / "missing")
        self.addCleanup(os.environ.pop, "DPLEDGER_TOKEN_FILE")
        with self.assertRaisesRegex(dpledger.Error, "missing"):
            self.recorder("environment2", spool=str(self.folder / "other"))

    def test_wrong_arguments_are_named(self):
        for words, kind, options in (
                ("dataset: must be text", TypeError, dict(dataset=3)),
                ("adjacency: must be one of", ValueError, dict(adjacency="close")),
                ("policy: must be one of", ValueError, dict(policy=None)),
                ("planned_rounds: must be a whole number", TypeError, dict(planned_rounds=1.5)),
                ("planned_rounds: must be in", ValueError, dict(planned_rounds=-1)),
                ("open_timeout: must be a number", TypeError, dict(open_timeout="long")),
                ("^open_timeout: must be", ValueError, dict(open_timeout=math.nan)),
                ("ledger: must not hold a NUL", ValueError, dict(ledger="a\0b")),
                ("filter: must be", ValueError, dict(filter=("renyi", 2))),
                ("writer", ValueError, dict(writer="no blanks here")),
                ("path: must not be given together with server", ValueError,
                 dict(path="run.ledger")),
                ("state_folder: needs state_key", ValueError, dict(state_folder="x"))):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                self.recorder(options.pop("ledger", "wrong"), **options)

    def test_a_recorder_that_is_left_lives_until_the_calls_of_other_threads_have_ended(self):
        # It was freed under them: a crash.
        code = textwrap.dedent("""
            import os, signal, sys, threading, time
            import support, dpledger
            server = support.Server(sys.argv[1])
            ledger = dpledger.Recorder(dataset="points", unit="point", server=server.address,
                                       spool=sys.argv[1] + "/spool", close_timeout=0.5)
            ledger.round(dpledger.Poisson(0.1), dpledger.SumQuery(1.0, 2.0)).await_releasable()
            os.kill(server.process.pid, signal.SIGSTOP)
            def close():
                try:
                    ledger.close()
                except dpledger.Error as error:
                    print(error.code)
            threads = [threading.Thread(target=close) for _ in range(2)]
            for thread in threads:
                thread.start()
            while ledger.undelivered() == 0:  # the end of the writer: a thread is in close()
                time.sleep(0.001)
            ledger.leave()
            try:
                ledger.undelivered()
            except dpledger.Error as error:
                print(error.reason)
            for thread in threads:
                thread.join()
            os.kill(server.process.pid, signal.SIGCONT)
            try:  # the last call has freed it, and its spool
                dpledger.Recorder(dataset="points", unit="point", server=server.address,
                                  spool=sys.argv[1] + "/spool")
            except dpledger.Error as error:
                print(error)
            server.stop()
        """)
        ran = subprocess.run([sys.executable, "-c", code, str(self.folder)], capture_output=True,
                             text=True, timeout=60, cwd=support.SOURCE / "tests/python")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        told = ran.stdout.split()
        self.assertIn("FREED", told)
        self.assertIn("DEADLINE_EXCEEDED", told)
        self.assertIn("trainer has closed", ran.stdout)

    def test_a_server_that_is_away_is_an_error_not_a_crash(self):
        with self.assertRaises(dpledger.Error) as caught:
            self.recorder("away", server="127.0.0.1:9", open_timeout=0.3)
        self.assertIn(caught.exception.code, ("UNAVAILABLE", "DEADLINE_EXCEEDED"))

    def test_a_server_that_dies_releases_nothing(self):
        own = self.folder / "own"
        own.mkdir()
        server = support.Server(own)
        self.addCleanup(server.stop)
        ledger = self.recorder("dying", server=server.address, release_timeout=0.5,
                               close_timeout=0.5)
        privatizer = sums.Privatizer([sums.ClipGroup("all", 4, 1.0)], 1.0, ledger)
        server.process.kill()
        server.process.wait()
        privatizer.begin(SCHEME)
        with self.assertRaises(dpledger.Error) as caught:
            privatizer.finish()
        self.assertEqual(caught.exception.code, "DEADLINE_EXCEEDED")
        with self.assertRaises(dpledger.Error):
            ledger.close()


class InAFolder(Recording, support.WithPath):
    def in_a_process(self, code, *arguments, **options):
        return subprocess.run(
            [sys.executable, "-c", "import sys, support, dpledger\n" + textwrap.dedent(code),
             *map(str, arguments)],
            capture_output=True, text=True, timeout=120,
            **dict(cwd=str(self.folder),
                   env=dict(os.environ, PYTHONPATH=str(support.pathlib.Path(__file__).parent)),
                   **options))

    def test_a_bundle_is_verified_and_imported_by_the_program(self):
        bundle, imported = self.folder / "run.bundle", self.folder / "server"
        with self.recorder("taken-home") as ledger:
            for _ in range(3):
                ledger.round(SCHEME, QUERY).await_releasable()
            ledger.export(bundle)  # while the run goes on
            spent = ledger.epsilon(delta=1e-5)
            with self.assertRaises(dpledger.Error) as caught:
                ledger.export(self.folder / "missing" / "run.bundle")
            self.assertEqual(caught.exception.code, "NOT_FOUND")
        dpledger_program = str(support.BIN / "dpledger")
        check = [dpledger_program, "ledger", "verify", str(bundle), "--self-signed", "--delta",
                 "1e-5", "--json"]
        verified = subprocess.run(check, capture_output=True, text=True)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertEqual(base64.b64decode(json.loads(verified.stdout)["rootHash"]).hex(),
                         spent.root)
        imported.mkdir()
        server = support.Server(imported)
        self.addCleanup(server.stop)
        server.program("ledger", "import", str(bundle), "--self-signed")
        told = json.loads(server.program("epsilon", "--delta", "1e-5", "--ledger", "taken-home",
                                         "--json"))
        self.assertAlmostEqual(told["epsilon"]["upper"], spent.epsilon.upper, delta=1e-6)
        changed = bytearray(bundle.read_bytes())
        at = changed.index(b"weights")
        changed[at:at + 7] = b"weighty"
        bundle.write_bytes(changed)
        self.assertEqual(subprocess.run(check, capture_output=True).returncode, 3,
                         "a changed bundle is found")

    def test_without_any_place_the_ledger_is_in_the_working_folder_and_stderr_says_so(self):
        ran = self.in_a_process("""
            for _ in range(2):
                with dpledger.Recorder(dataset="points", unit="point", writer="w%d" % _) as ledger:
                    recorded = ledger.round(dpledger.Poisson(0.1), dpledger.SumQuery(1.0, 2.0))
                    recorded.await_releasable()
                    name = ledger.name
            print(name)
        """)
        self.assertEqual((ran.returncode, ran.stdout), (0, "projects/default/ledgers/points\n"),
                         ran.stderr)
        self.assertEqual(ran.stderr,
                         "dpledger: no server is named: the ledger is kept in this folder, in "
                         "points.ledger\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["points.ledger"])
        self.assertEqual((self.folder / "points.ledger").stat().st_mode & 0o777, 0o700)
        # Who means a server is not given a folder.
        for place in ('token_file="x"', 'log_key="x"', 'ca="x"'):
            with self.subTest(place):
                ran = self.in_a_process('dpledger.Recorder(dataset="points", unit="point", %s)'
                                        % place)
                self.assertIn("server: must be given as host:port", ran.stderr)

    def test_kills_in_the_midst_lose_nothing_that_was_released(self):
        released, place = 0, json.dumps(self.place())
        for lines in (1, 2, 3, 7, 12):  # of the rounds that the killed process says it has released
            process = subprocess.Popen(
                [sys.executable, "-c", KILLED_TRAINER, place, "1000000", "ends"], text=True,
                stdout=subprocess.PIPE, cwd=str(support.pathlib.Path(__file__).parent))
            self.addCleanup(process.stdout.close)
            for _ in range(lines):
                self.assertNotEqual(process.stdout.readline(), "")
            process.kill()
            released += lines + len(process.stdout.read().split())
            self.assertEqual(process.wait(), -signal.SIGKILL)
        with self.recorder("killed") as ledger:
            spent = ledger.epsilon(delta=1e-5)
            ledger.export(self.folder / "run.bundle")
        truth = support.epsilon_by_program(noise_multiplier=2, sample_rate=0.1, steps=released,
                                           delta=1e-5)
        self.assertGreaterEqual(spent.epsilon.upper, truth["lower"])
        # A round is two entries; each opening that records something is one, and the declaration.
        # Each kill may leave a round more.
        self.assertIn((spent.entries - 6) // 2 - released, range(6))
        subprocess.run([str(support.BIN / "dpledger"), "ledger", "verify",
                        str(self.folder / "run.bundle"), "--self-signed"],
                       check=True, capture_output=True)

    def test_a_path_goes_before_the_server_that_the_environment_names(self):
        os.environ[
            "DPLEDGER_SERVER"], os.environ["DPLEDGER_LOG_KEY"] = "127.0.0.1:9", "of another log"
        for name in ("DPLEDGER_SERVER", "DPLEDGER_LOG_KEY"):
            self.addCleanup(os.environ.pop, name)
        with self.recorder("here") as ledger:
            ledger.round(SCHEME, QUERY).await_releasable()

    def test_a_full_disk_is_one_error_and_nothing_on_stderr(self):
        # Lines of JSON came on stderr from the library. No file may pass a limit here, as none can
        # on a full disk.
        code = textwrap.dedent("""
            import resource, sys
            import support, dpledger
            ledger = dpledger.Recorder(path=sys.argv[1], dataset="points", unit="point",
                                       release_timeout=2.0)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            query = [dpledger.SumQuery(1.0, 1.0, "%d-%s" % (i, "x" * 150)) for i in range(500)]
            try:
                while True:
                    ledger.round(dpledger.Poisson(0.1), query).await_releasable()
            except dpledger.Error as refused:
                print(refused)
            ledger.leave()
        """)
        ran = subprocess.run([sys.executable, "-c", code, str(self.path)], capture_output=True,
                             text=True, timeout=120, cwd=support.SOURCE / "tests/python")
        self.assertEqual(ran.stderr, "")
        self.assertRegex(ran.stdout, "File too large|No space left")
        self.assertEqual(ran.stdout.count("\n"), 1)

    def test_another_process_is_refused_while_it_is_open(self):
        code = ('dpledger.Recorder(dataset="points", unit="point", writer="other", '
                'path=sys.argv[1]).leave()')
        with self.recorder("locked"):
            refused = self.in_a_process(code, self.path)
        self.assertIn("path: another process has %s open" % self.path, refused.stderr)
        self.assertEqual(self.in_a_process(code, self.path).returncode, 0)

    def test_a_process_may_end_without_letting_go(self):
        ran = self.in_a_process("""
            import os
            kept = dpledger.Recorder(dataset="points", unit="point", path=sys.argv[1])
            kept.round(dpledger.Poisson(0.1), dpledger.SumQuery(1.0, 2.0)).await_releasable()
            kept._finalize.detach()  # as a program in C that frees nothing
        """, self.path)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_a_fork_can_open_no_folder_and_harms_none(self):
        ran = self.in_a_process("""
            import os
            with dpledger.Recorder(dataset="points", unit="point", path=sys.argv[1]) as ledger:
                for step in range(20):
                    recorded = ledger.round(dpledger.Poisson(0.1), dpledger.SumQuery(1.0, 2.0))
                    child = os.fork()
                    if child == 0:  # as a DataLoader's worker
                        try:
                            dpledger.Recorder(dataset="points", unit="point",
                                              path=sys.argv[1] + str(step))
                        except dpledger.Error as failed:
                            os._exit(7 if failed.reason == "FORKED" else 8)
                        os._exit(9)
                    recorded.await_releasable()
                    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end="")
                print(ledger.epsilon(delta=1e-5).entries)
        """, self.path)
        self.assertEqual(ran.stdout, "7" * 20 + "42\n", ran.stderr)

    def test_a_path_that_is_no_ledgers_is_refused(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine" / "notes.txt").write_text("mine")
        with self.assertRaisesRegex(dpledger.InvalidArgument, "holds something else") as caught:
            self.recorder("foreign", path=str(self.folder / "mine"))
        self.assertEqual(caught.exception.field, "path")
        self.assertEqual(os.listdir(self.folder / "mine"), ["notes.txt"])


class Samples(support.WithServer):
    def test_a_sampler_is_neither_copied_nor_saved(self):
        sampler = dpledger.Sampler(dpledger.Poisson(0.1, 1000))
        self.assertIs(copy.copy(sampler), sampler)
        for take in (copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(dpledger.InvalidArgument, "neither copied nor saved"):
                take(sampler)

    def test_samples_are_of_the_scheme(self):
        drawn = dpledger.Sampler(dpledger.Poisson(0.1, 1000), non_private_seed=1).draw()
        self.assertEqual(drawn, sorted(set(drawn)))
        self.assertTrue(50 < len(drawn) < 170 and 0 <= drawn[0] and drawn[-1] < 1000, drawn)
        epoch = dpledger.Sampler(dpledger.DisjointBatches(4, population_size=10))
        self.assertEqual(sorted(sum((epoch.draw() for _ in range(4)), [])), list(range(10)))
        with self.assertRaisesRegex(dpledger.Error, "population_size"):
            dpledger.Sampler(dpledger.Poisson(0.1))
        with self.assertRaises(dpledger.Error) as caught:
            dpledger.Sampler(dpledger.WithReplacement(3, 10))
        self.assertEqual(caught.exception.code, "UNIMPLEMENTED")


if __name__ == "__main__":
    unittest.main()
