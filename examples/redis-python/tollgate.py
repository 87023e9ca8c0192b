"""Token buckets on Redis or Valkey, shared with every program that keeps to the same contract: docs/redis-script.md."""
import math, time
from pathlib import Path
from typing import NamedTuple
import redis
from rule import VERSION, digest, key_of, length8, limit_of

LIFETIME_MS = 90 * 86_400_000  # A rule's record is kept so long after it was last read.
REREAD_SECONDS = 10  # Another limit of a rule is noticed after so long.
BURST_MAX = 9 * 10**9  # Tokens.
FAULTS = {1: "another type of value", 2: "a state that this version did not write"}

class Bucket(NamedTuple):
    name: bytes
    limit: tuple  # In the words of the contract.

class Verdict(NamedTuple):
    admitted: bool
    remaining: list  # Tokens of each bucket; below 0 it is in debt.
    wait_seconds: float  # When to ask again; math.inf if a bucket never holds as much.

class Tollgate:
    """`client` is a redis.Redis. `tag`, in a Cluster, puts all keys into one slot, so that any buckets can be checked together."""
    def __init__(self, client, prefix="tg", tag=None):
        self._begin = f"{prefix}:{{{tag}}}" if tag else f"{prefix}:"
        # redis-py sends EVALSHA, and the script itself when the server answers NOSCRIPT.
        texts = {name: Path(__file__).with_name(f"{name}.lua").read_bytes() for name in ("decide", "declare")}
        self._scripts = {name: client.register_script(text) for name, text in texts.items()}
        self._rules = {}  # The limit of each rule in words, and when it was read.

    def bucket(self, key, tokens, burst, seconds=1):
        """A bucket whose limit comes with the call: it holds `burst` tokens, and gets `tokens` back every `seconds`; all are whole numbers."""
        for name, number in {"tokens": tokens, "burst": burst, "seconds": seconds}.items():
            if not (isinstance(number, int) and 1 <= number <= BURST_MAX):
                raise ValueError(f"`{name}` is {number}; use a whole number from 1 to {BURST_MAX} (half a token per second: 1 every 2)")
        common = math.gcd(tokens, seconds)
        return Bucket(self._name("*", key.encode()), ("e", tokens // common, seconds // common, burst * 10**6))

    def bucket_of_rule(self, policy, rule, *parts):
        """A bucket of a rule that a node has declared, and whose it is: ("user", "42") or ("ip", "192.0.2.7"); nobody's of scope global."""
        rule_id = digest(length8(policy.encode()), policy.encode(), rule.encode())[:8]
        limit, read_at = self._rules.get(rule_id, (None, 0.0))
        if limit is None or time.monotonic() - read_at > REREAD_SECONDS:
            _, record, _ = self._run("declare", [f"{self._begin}{rule_id}="], [VERSION, 0, LIFETIME_MS])
            limit = limit_of(record, policy, rule)
            self._rules[rule_id] = limit, time.monotonic()
        return Bucket(self._name(rule_id, key_of(parts)), limit)

    def check(self, *charges):
        """Takes tokens from all buckets or from none: check((user, 5), (everyone, 1))."""
        names = [bucket.name for bucket, _ in charges]
        if len(set(names)) < len(names):
            raise ValueError("a bucket stands twice in one check; add up the costs")
        limits = [word for bucket, _ in charges for word in bucket.limit]
        costs = [word for at, (_, tokens) in enumerate(charges, 1) for word in (at, at, round(tokens * 10**6), 0)]
        words = [VERSION, 0, len(names), len(names), *limits, "c", len(names), *costs]
        _, status, *told = self._run("decide", names, words)
        if status == 9:
            raise ValueError(f"a key of the check holds {FAULTS.get(told[0])}; use another `prefix`, or delete that key")
        remaining, waits = ([number / 10**6 for number in told[first::3]] for first in (0, 1))
        return Verdict(status == 1, remaining, math.inf if status == 2 else max(waits))

    def _run(self, script, keys, words):
        try:
            return self._scripts[script](keys=keys, args=words)
        except redis.ResponseError as error:
            if "TOLLGATEVERSION" not in str(error):
                raise
            cure = f"{script}.lua is of another version than this program, which speaks {VERSION}; take both from one release"
            raise redis.ResponseError(f"{cure}: {error}") from error

    def _name(self, rule, key):
        """Keys that are long, or have a brace in them, stand in names as their digest."""
        if not 1 <= len(key) <= 512:
            raise ValueError(f"a key has {len(key)} bytes; use 1 to 512")
        is_plain = len(key) <= 64 and b"{" not in key
        shown = key if is_plain else digest(length8(b"\0"), b"\0", length8(key), key)[:32].encode()
        return f"{self._begin}{rule}{':' if is_plain else '~'}".encode() + shown
