#!/usr/bin/env python3
"""Trainers that are granted as they go, under one budget that takes 61 % of their rounds, while they, their servers and
the database are killed with SIGKILL again and again. In the end as many rounds are in the ledgers as fit, to the one;
every round that a trainer was told of is there; and an auditor finds the budget kept, from bundles alone.

usage: race.py embedded|postgres BUILD [SEED]    the seed, which is printed, repeats who is killed when
"""
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TRAINERS, ROUNDS = 32, 200
NOISE = 32.0  # ρ of 2^-11 a round: sums of it are exact
FITS = TRAINERS * ROUNDS * 61 // 100
# What a trainer does until it is done or refused: one line of its file for each round that it was told of.
TRAINER = """
import sys, dpledger
server, name, spool, told, rounds = sys.argv[1:]
once = dpledger.SumQuery(1.0, %r)
done = sum(1 for line in open(told))
try:
    recorder = dpledger.Recorder(server=server, ledger=name, dataset="people", unit="person", parameters="adaptive",
                                 budget="all", automatic_grants=True, spool=spool)
except dpledger.Error as error:
    if "has closed" in str(error):
        sys.exit()  # killed after its end
    sys.exit(75 if error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED") else str(error))
with open(told, "a") as file:
    while done < int(rounds):
        round = recorder.round(dpledger.FullBatch(), once)
        try:
            round.await_releasable()
        except dpledger.Error as error:
            if error.reason != "BUDGET_EXCEEDED":
                raise
            break
        done += 1
        file.write("told\\n")
        file.flush()
recorder.close()
""" % NOISE


class Process:
    """A program that is started again whenever it was killed."""

    def __init__(self, command, log, **options):
        self.command, self.log, self.options = command, log, options
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(self.command, stdout=log, stderr=log, **self.options)

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()


class Database:
    """PostgreSQL in a folder, by a user who is not root."""

    def __init__(self, folder):
        self.programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.user = {"user": "postgres"} if os.geteuid() == 0 else {}
        self.data, self.port = folder / "data", free_port()
        if self.user:
            shutil.chown(folder, "postgres")
        self.run("initdb", "-A", "trust", "-U", "dpledger", "-D", self.data)
        self.control("start")
        self.connection = folder / "connection"
        self.connection.write_text("host=127.0.0.1 port=%d user=dpledger dbname=postgres" % self.port)
        self.connection.chmod(0o600)

    def run(self, program, *arguments):
        subprocess.run([self.programs / program, *arguments], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd="/", **self.user)

    def control(self, what, *options):
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.data.parent / "log", "-o",
                 "-p %d -c listen_addresses=127.0.0.1 -k %s" % (self.port, self.data.parent), *options, what)

    def kill(self):
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        while True:  # its children notice, and let go of the memory that they share
            try:
                self.control("start")
                return
            except subprocess.CalledProcessError:
                time.sleep(0.2)


def free_port():
    """One that no connection of a trainer takes while its server is away."""
    while True:
        port = random.randrange(15000, 32000)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Race:
    def __init__(self, engine, build, seed):
        self.bin, self.chance = build / "bin", random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="budget-race-"))
        self.folder.chmod(0o755)
        self.environment = dict(os.environ, PYTHONPATH=str(build / "python"), PYTHONDONTWRITEBYTECODE="1",
                                DPLEDGER_LIBRARY_PATH=str(build / "lib"))
        self.database = None
        kept = ["--store", self.folder / "store"]
        if engine == "postgres":
            (self.folder / "database").mkdir()
            self.database = Database(self.folder / "database")
            # All are new, whichever makes the key first.
            kept = ["--postgres", self.database.connection, "--signing-key", self.folder / "key",
                    "--accept-missing-checkpoint"]
        self.addresses, self.servers = [], []
        for i in range(3 if self.database else 1):
            self.addresses.append("127.0.0.1:%d" % free_port())
            copy = ["--checkpoint-copy", self.folder / ("copy%d" % i)] if self.database else []
            self.servers.append(Process([self.bin / "dpledger-server", "--listen", self.addresses[i], *kept, *copy],
                                        self.folder / ("server%d.log" % i)))
        self.trainers = {}

    def program(self, *arguments, check=True):
        return subprocess.run([self.bin / "dpledger", *arguments], check=check, capture_output=True, text=True,
                              timeout=120)

    def ask(self, *arguments):
        """What the program prints, of the first server that answers."""
        for _ in range(100):
            done = self.program(*arguments, "--server", self.addresses[0], check=False)
            if done.returncode == 0:
                return done.stdout
            self.raise_servers()
            time.sleep(0.3)
        sys.exit("%s: %s%s" % (" ".join(arguments), done.stderr, (self.folder / "server0.log").read_text()[-2000:]))

    def trainer(self, name, address, rounds=ROUNDS):
        told = self.folder / (name + ".told")
        told.touch()
        command = ["/usr/bin/python3", "-c", TRAINER, address, name, str(self.folder / (name + ".spool")), str(told),
                   str(rounds)]
        return Process(command, self.folder / (name + ".log"), env=self.environment)

    def run(self):
        self.ask("budget", "create", "all", "--dataset", "people", "--unit", "person", "--adjacency",
                 "add-or-remove-one", "--filter", "zcdp:%r" % (FITS / (2 * NOISE * NOISE)))
        for i in range(TRAINERS):
            name = "run%d" % i
            self.trainers[name] = self.trainer(name, self.addresses[i % len(self.addresses)])
        kills = dict(trainers=0, servers=0, databases=0)
        end = time.monotonic() + 400
        while self.trainers and time.monotonic() < end:
            time.sleep(self.chance.uniform(0.02, 0.2))
            self.reap()
            what = self.chance.random()
            if what < 0.6 and self.trainers:
                victim = self.trainers[self.chance.choice(sorted(self.trainers))]
                victim.kill()
                if victim.child.returncode != 0:  # it was not at its end
                    victim.start()
                    kills["trainers"] += 1
            elif what < 0.65:
                server = self.chance.choice(self.servers)
                server.kill()
                server.start()
                kills["servers"] += 1
            elif what < 0.68 and self.database:
                self.database.kill()
                kills["databases"] += 1
        if self.trainers:
            sys.exit("not done in time: %s" % ", ".join(sorted(self.trainers)))
        print("killed: %s" % kills)
        self.take_the_rest()
        self.check()

    def raise_servers(self):
        for server in self.servers:
            if server.child.poll() is not None:  # it found no database, or another one at its start
                server.start()

    def reap(self):
        self.raise_servers()
        for name, trainer in list(self.trainers.items()):
            code = trainer.child.poll()
            if code == 0:
                del self.trainers[name]
            elif code == 75:  # its server was away for long
                trainer.start()
            elif code is not None:
                sys.exit("%s ended with %s: %s" % (name, code, (self.folder / (name + ".log")).read_text()[-2000:]))

    def take_the_rest(self):
        """What was set aside for one while another was refused, and given back."""
        last = self.trainer("rest", self.addresses[0], FITS)
        if last.child.wait(timeout=120) != 0:
            sys.exit("the rest: %s" % (self.folder / "rest.log").read_text()[-2000:])

    def check(self):
        names = ["run%d" % i for i in range(TRAINERS)] + ["rest"]
        stored = {}
        for name in names:
            entries = [json.loads(line) for line in self.ask("ledger", "read", name).splitlines()]
            stored[name] = sum("sum_query" in entry.get("event", {}) for entry in entries)
            told = len((self.folder / (name + ".told")).read_text().splitlines())
            if told > stored[name]:
                sys.exit("%s was told of %d rounds, and its ledger has %d" % (name, told, stored[name]))
        total = sum(stored.values())
        print("%d rounds of %d that fit, %d of them by the last run" % (total, FITS, stored["rest"]))
        if total != FITS:
            sys.exit("%d rounds are stored, and %d fit" % (total, FITS))
        shown = json.loads(self.ask("budget", "show", "all", "--json"))
        print("the budget has %s entries, and %r of %r is granted" % (
            shown["budget"]["size"], shown["spending"]["spent"], shown["spending"]["bound"]))
        bundles = []
        for name in ["all", *names]:
            bundles.append(str(self.folder / (name + ".bundle")))
            self.ask("ledger", "export", name, "--output", bundles[-1])
        verified = self.program("budget", "verify", *bundles, "--self-signed", check=False)
        if verified.returncode != 0:
            sys.exit("budget verify: %s%s" % (verified.stdout, verified.stderr))

    def stop(self):
        for process in [*self.trainers.values(), *self.servers]:
            process.kill()
        if self.database:
            self.database.control("stop", "-m", "immediate")
        shutil.rmtree(self.folder)


def main():
    engine, build = sys.argv[1], pathlib.Path(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    print("seed %d" % seed, flush=True)
    race = Race(engine, build, seed)
    try:
        race.run()
    finally:
        race.stop()


if __name__ == "__main__":
    main()
