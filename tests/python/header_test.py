"""The package's ctypes against the C header: names, order and types of members, and constants."""
import ctypes
import re
import unittest

import support  # noqa: F401  (finds the package)
from dpledger import _client

HEADER = (support.SOURCE / "client/include/dpledger.h").read_text()
TYPES = {"size_t": ctypes.c_size_t, "double": ctypes.c_double, "int32_t": ctypes.c_int32,
         "uint64_t": ctypes.c_uint64}
POINTERS = {"char": ctypes.c_char_p, "void": ctypes.c_void_p,
            "size_t": ctypes.POINTER(ctypes.c_size_t), "double": ctypes.POINTER(ctypes.c_double)}


def structs():
    """{name: [(member, type, stars)]} of the header."""
    text = re.sub(r"//[^\n]*", "", HEADER)
    found = {}
    for name, body in re.findall(r"typedef struct (dpledger_\w+) \{(.*?)\}", text, re.S):
        members = []
        for line in filter(str.strip, body.split(";")):
            kind, stars, names = re.fullmatch(r"\s*(?:const )?(\w+)((?:\*| const\*)*) ([\w, ]+)",
                                              line).groups()
            members += [(member.strip(), kind, stars.count("*")) for member in names.split(",")]
        found[name] = members
    return found


class Header(unittest.TestCase):
    def test_structs_have_the_headers_members(self):
        in_header = structs()
        ours = {value.__name__: value for value in vars(_client).values() if isinstance(value, type)
                and issubclass(value, _client.Struct) and value is not _client.Struct}
        self.assertGreaterEqual(len(ours), 9)
        for name, kind in ours.items():
            expected = []
            for member, word, stars in in_header[name]:
                if stars == 0:
                    expected.append((member, TYPES[word]))
                elif stars == 2:
                    expected.append((member, ctypes.POINTER(ctypes.c_char_p)))
                else:
                    expected.append((member, POINTERS[word] if word in POINTERS
                                     else ctypes.POINTER(ours[word])))
            self.assertEqual(kind._fields_, expected, name)

    def test_constants_have_the_headers_values(self):
        constants = {name.lower().replace("_", "-"): int(value)
                     for name, value in re.findall(r"DPLEDGER_(\w+) = (\d+)", HEADER)}
        for table in (_client.SCHEMES, _client.ADJACENCIES, _client.PARAMETERS, _client.NOISES,
                      _client.ALLOCATIONS):
            for word, number in table.items():
                self.assertEqual(constants[word.replace("_", "-")], number, word)
        self.assertEqual({word: constants[word + "-filter"] for word in _client.FILTERS},
                         _client.FILTERS)
        self.assertEqual({word: constants[word] for word in _client.POLICIES}, _client.POLICIES)
        for name in ("FLOAT32", "BFLOAT16", "FLOAT16"):
            self.assertEqual(constants[name.lower()], getattr(_client, name))

    def test_codes_have_grpcs_names(self):
        from dpledger.errors import CODES
        lib = _client.library()
        lib.dpledger_status_name.restype = ctypes.c_char_p
        self.assertEqual([lib.dpledger_status_name(code).decode() for code in range(17)],
                         list(CODES))


if __name__ == "__main__":
    unittest.main()
