"""A second implementation of docs/request-digest.md, written from that page.

    python3 second.py vectors.json

computes every vector again and prints one line for each that differs. It is slow and short; the Go code is the one to use.
"""

import hashlib
import json
import re
import sys


class Refused(Exception):
    pass


class Number(str):
    """A number as it is written."""


def members(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise Refused("duplicate member name")
    return dict(pairs)


def constant(_):
    raise Refused("NaN and Infinity are not JSON")


def parse(raw):
    try:
        return json.loads(raw.decode("utf-8"), parse_int=Number, parse_float=Number, parse_constant=constant,
                          object_pairs_hook=members)
    except ValueError as e:  # bad UTF-8 and bad JSON
        raise Refused(str(e))


def length(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def text(s):
    try:
        b = s.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("lone surrogate")
    return length(len(b)) + b


def decimal(s):
    sign, whole, fraction, exponent = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?", s).groups()
    fraction, exponent = fraction or "", exponent or "0"
    if len(exponent.lstrip("+-")) > 9:
        raise Refused("number exponent")
    digits = (whole + fraction).lstrip("0")
    e = int(exponent) - len(fraction) + len(digits) - len(digits.rstrip("0"))
    digits = digits.rstrip("0")
    return sign + digits + (f"e{e}" if e else "") if digits else "0"


def value(v, depth=1):
    if isinstance(v, (dict, list)) and depth > 1000:
        raise Refused("nested deeper than 1000")
    if v is None:
        return b"n"
    if v is True:
        return b"t"
    if v is False:
        return b"f"
    if isinstance(v, Number):
        return b"#" + text(decimal(v))
    if isinstance(v, str):
        return b'"' + text(v)
    if isinstance(v, list):
        return b"[" + b"".join(value(x, depth + 1) for x in v) + b"]"
    done = sorted((name.encode("utf-8", "surrogatepass"), value(name) + value(x, depth + 1)) for name, x in v.items())
    return b"{" + b"".join(bytes_ for _, bytes_ in done) + b"}"


def canonical(method, raw):
    params = parse(raw)
    if not isinstance(params, dict):
        raise Refused("params are not an object")
    value(params)  # what is left out must be valid, too
    if method in ("tools/call", "prompts/get"):
        if params.get("arguments") in (None, {}):
            params.pop("arguments", None)
        required, kept = "name", ("name", "arguments", "task")
    elif method == "resources/read":
        required, kept = "uri", ("uri",)
    else:
        required, kept = None, params
    if required and (not isinstance(params.get(required), str) or isinstance(params[required], Number)):
        raise Refused("member " + required)
    return text("mcp-requeststate v1 request") + text(method) + value({k: v for k, v in params.items() if k in kept})


def raw(case):
    return bytes.fromhex(case["hex"]) if "hex" in case else case["params"].encode()


def check(vectors):
    for case in vectors["equal"]:
        for p in case["params"]:
            got = canonical(case["method"], p.encode())
            if got.hex() != case["canonical"] or hashlib.sha256(got).hexdigest() != case["sha256"]:
                yield f"equal, {case['name']}: {p!r}"
    for case in vectors["different"]:
        all_ = [canonical(case["method"], p.encode()) for p in case["params"]]
        if len(set(all_)) != len(all_):
            yield f"different, {case['name']}"
    for case in vectors["refused"]:
        try:
            canonical(case["method"], raw(case))
        except (Refused, RecursionError):
            continue
        yield f"refused, {case['name']}"


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    with open(sys.argv[1], encoding="utf-8") as f:
        wrong = list(check(json.load(f)))
    print("\n".join(wrong))
    sys.exit(bool(wrong))
