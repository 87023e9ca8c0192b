"""Rules that nodes have declared: the limit in their record, and the keys of their buckets. See docs/redis-script.md."""
import base64, hashlib, ipaddress, json, math

VERSION = 1  # Of the script's arguments, replies and names of keys.
# What a part of a key is, by its number.
KINDS = {"ip": 2, "header": 3, "query": 4, "cookie": 5, "claim": 6, "route": 9, "method": 11, "host": 13, "user": 14, "plan": 16, "constant": 18}
OTHER_METHOD = 12
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}
PARTS_MAX = 14

def limit_of(record, policy, rule):
    """The words of the limit that a rule's record says."""
    if not record:
        raise LookupError(f"rule `{rule}` of policy `{policy}` is not declared; start a node that has it, and see to both names")
    head, _, rest = (record if isinstance(record, bytes) else record.encode()).partition(b"\n")
    version, *lengths = head.split(b" ")
    if version != b"%d" % VERSION:
        raise LookupError(f"rule `{rule}` was declared by version {version.decode(errors='replace')}, and this program speaks {VERSION}; use one release everywhere")
    end = sum(map(int, lengths))
    names, lines = rest[:end].decode(), rest[end + 1:].decode().splitlines()
    if names != policy + rule:
        raise LookupError(f"rule `{rule}` has the same digest as another ({names}); give it another name")
    rows = [[int(word) for word in line.split()[1:]] for line in lines]
    older = rows.pop() if lines[-1].startswith("f") else None
    if any(row[10] for row in rows):
        raise LookupError(f"rule `{rule}` is no token bucket; this program knows no other algorithm")

    limits = [{"from": row[4] // 1000, "burst": row[2], **terms(row[0], row[1], row[6])} for row in rows]
    limit, past, slow = limits[0], limits[1:], rate(*rows[0][15:17])
    if not past:
        return ("b", limit["num"], limit["den"], limit["burst"], limit["from"], limit["frac"], *slow)
    # The rate that keys from before each limit were kept by: where any since was below it, they may have gone before they were full.
    gone, before = [], [(row[2], *row[17:19]) for row in rows[1:]] + ([older[2:5]] if older else [])
    for at, (burst, num, den) in enumerate(before):
        if any(row[0] * den < num * row[1] for row in rows[:at + 1]):
            gone.append([limits[at]["from"], burst, *rate(num, den)])
    full = {"k": "t", **limit, "head": rows[0][8], "slow": slow, "past": past}
    full |= {"gone": gone} if gone else {}
    full |= {"low": [*rate(*older[:2]), older[2]]} if older else {}
    return ("j", json.dumps(full))

def key_of(parts):
    """The key of a rule's bucket: each part after its kind and its length. Without one of them it is the one key of all who are anonymous."""
    if len(parts) > PARTS_MAX:
        raise ValueError(f"a key has {len(parts)} parts; use at most {PARTS_MAX}")
    if not all(value for _, value in parts):
        return b"\0"
    key = b"\1"
    for source, value in parts:
        if source not in KINDS:
            raise ValueError(f"a part of a key is of kind `{source}`; use one of {', '.join(KINDS)}")
        kind, written = KINDS[source], network(value) if source == "ip" else value.encode()
        if source == "method" and value not in METHODS:  # Clients can make up methods, and must not get a bucket for each.
            kind, written = OTHER_METHOD, b""
        # Every part has its share of 512 bytes; one that needs more stands there as its hash.
        if (len(written) + 3) * len(parts) > 511:
            kind, written = kind + 128, hashlib.sha256(written).digest()
        key += bytes([kind]) + len(written).to_bytes(2, "big") + written
    return key

def network(ip):
    """What one client has: an IPv4 address, or a network of 64 bits of IPv6."""
    address = ipaddress.ip_address(ip)
    address = getattr(address, "ipv4_mapped", None) or address
    if address.version == 4:
        return address.packed + bytes([32])
    return address.packed[:8] + bytes(8) + bytes([64])

def terms(num, den, frac):
    """Micro-tokens every so many nanoseconds, as every so many microseconds."""
    common = math.gcd(1000, den)
    return {"num": num * 1000 // common, "den": den // common, "frac": frac // common}

def rate(num, den):
    return [*terms(num, den, 0).values()][:2]

def length8(part):
    return len(part).to_bytes(8, "big")

def digest(*parts):
    return base64.urlsafe_b64encode(hashlib.sha256(b"".join(parts)).digest()).decode()
