#!/usr/bin/env python3
"""deploy/sign_release.sh with a throw-away key, and the commands by which docs/dashboard.md has a reader check it."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])


def run(*command, folder="."):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def new_key(path, *how):
    assert run("openssl", "genpkey", *(how or ("-algorithm", "ed25519")), "-out", str(path))[0] == 0
    path.chmod(0o600)
    return path


class SignRelease(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.release = self.folder / "release"
        (self.release / "deb").mkdir(parents=True)
        (self.release / "dpledger-verifier.html").write_text("<!doctype html>\n")
        (self.release / "deb" / "dpledger_0.1.0-1_amd64.deb").write_bytes(os.urandom(1000))
        self.key = new_key(self.folder / "key.pem")

    def sign(self, key=None):
        return run(str(SOURCE / "deploy/sign_release.sh"), str(key or self.key), str(self.release))

    def check(self, key=None):
        """As a reader does, in the folder that he fetched."""
        run("openssl", "pkey", "-in", str(key or self.key), "-pubout", "-out", str(self.folder / "dpledger-release.pem"))
        shutil.copy(self.folder / "dpledger-release.pem", self.release)
        block = re.search(r"```\n(openssl pkeyutl -verify[^`]*)```", (SOURCE / "docs/dashboard.md").read_text())
        return run("bash", "-euo", "pipefail", "-c", block.group(1), folder=self.release)

    def test_what_was_signed_is_found_whole(self):
        self.assertEqual(self.sign()[0], 0)
        code, said = self.check()
        self.assertEqual(code, 0, said)
        self.assertIn("dpledger-verifier.html: OK", said)
        # A reader who fetched the verifier alone, and one who is given a second release over the first.
        shutil.rmtree(self.release / "deb")
        self.assertEqual(self.check()[0], 0)
        (self.release / "dpledger-release.pem").unlink()
        self.assertEqual(self.sign()[0], 0)
        self.assertNotIn(".deb", (self.release / "SHA256SUMS").read_text())
        self.assertNotIn("SHA256SUMS", (self.release / "SHA256SUMS").read_text())

    def test_a_changed_bit_is_noticed_wherever_it_is(self):
        for name in ("dpledger-verifier.html", "SHA256SUMS", "SHA256SUMS.sig", "deb/dpledger_0.1.0-1_amd64.deb"):
            self.assertEqual(self.sign()[0], 0)
            self.assertEqual(self.check()[0], 0)
            path = self.release / name
            good = path.read_bytes()
            path.write_bytes(good[:7] + bytes([good[7] ^ 1]) + good[8:])
            self.assertNotEqual(self.check()[0], 0, name)
            path.write_bytes(good)
            (self.release / "dpledger-release.pem").unlink()

    def test_another_key_signed_nothing(self):
        self.assertEqual(self.sign()[0], 0)
        self.assertNotEqual(self.check(new_key(self.folder / "other.pem"))[0], 0)

    def test_keys_and_folders_that_must_not_be_used(self):
        self.key.chmod(0o640)
        self.assertIn("group or others", self.sign()[1])
        self.key.chmod(0o600)
        self.assertIn("no Ed25519", self.sign(new_key(self.folder / "rsa.pem", "-algorithm", "rsa"))[1])
        self.assertIn("among what is published", self.sign(new_key(self.release / "key.pem"))[1])
        (self.release / "key.pem").unlink()
        (self.release / "two\nlines").write_text("")
        self.assertIn("name has more", self.sign()[1])
        self.assertFalse((self.release / "SHA256SUMS.sig").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
