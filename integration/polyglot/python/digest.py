"""The request digest, from docs/request-digest.md, and the strict JSON that it and the claims need."""

import hashlib
import json
import re
import sys

sys.setrecursionlimit(20_000)


class Number(str):
    """A number as it is written."""


class Members(list):
    """The members of an object, in order."""


def members(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("member twice")
    return Members(pairs)


def constant(text):
    raise ValueError(text)  # NaN and Infinity, which are not JSON


decoder = json.JSONDecoder(object_pairs_hook=members, parse_int=Number, parse_float=Number, parse_constant=constant)
space = re.compile(r"[ \t\n\r]*")


def skip(text, at):
    return space.match(text, at).end()


def parse(raw, max_depth):
    text = raw.decode("utf-8")  # strict: no surrogates, no overlong forms
    value, end = decoder.raw_decode(text, skip(text, 0))
    if skip(text, end) != len(text):
        raise ValueError("data behind the value")
    check(value, max_depth)
    return value


def check(value, depth):
    if isinstance(value, Number):
        return
    if isinstance(value, str):
        value.encode("utf-8")  # an unpaired surrogate fails
    elif isinstance(value, list):
        if depth == 0:
            raise ValueError("too deep")
        for item in value:
            if isinstance(value, Members):
                item[0].encode("utf-8")
                item = item[1]
            check(item, depth - 1)


SALIENT = {
    "tools/call": ("name", {"name", "arguments", "task"}),
    "prompts/get": ("name", {"name", "arguments", "task"}),
    "resources/read": ("uri", {"uri"}),
}


def canonical(method, params):
    if not method:
        raise ValueError("no method")
    root = Members() if params is None else parse(params, 1000)
    if not isinstance(root, Members):
        raise ValueError("params are no object")
    encode(root)  # a fault in a member that is left out refuses the request, too
    return text("mcp-requeststate v1 request") + text(method) + encode(choose(method, root))


def request_digest(method, params):
    return hashlib.sha256(canonical(method, params)).digest()


def choose(method, root):
    if method not in SALIENT:
        return root
    required, names = SALIENT[method]
    value = dict(root).get(required)
    if not isinstance(value, str) or isinstance(value, Number):
        raise ValueError("no " + required)
    return Members((n, v) for n, v in root if n in names and not (n == "arguments" and (v is None or v == Members() and isinstance(v, Members))))


def text(s):
    raw = s.encode("utf-8")
    n, out = len(raw), bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n]) + raw


def encode(value):
    if value is None:
        return b"n"
    if value is True or value is False:
        return b"t" if value else b"f"
    if isinstance(value, Number):
        return b"#" + text(decimal(value))
    if isinstance(value, str):
        return b'"' + text(value)
    if isinstance(value, Members):
        ordered = sorted(value, key=lambda m: m[0].encode("utf-8"))
        return b"{" + b"".join(encode(n) + encode(v) for n, v in ordered) + b"}"
    return b"[" + b"".join(encode(v) for v in value) + b"]"


def decimal(written):
    sign, whole, fraction, power = re.fullmatch(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?", written).groups()
    fraction, power = fraction or "", power or "0"
    if len(power.lstrip("+-")) > 9:
        raise ValueError("exponent too long")
    digits = (whole + fraction).lstrip("0")
    stripped = digits.rstrip("0")
    exponent = int(power) - len(fraction) + len(digits) - len(stripped)
    if not stripped:
        return "0"
    return sign + stripped + (f"e{exponent}" if exponent else "")
