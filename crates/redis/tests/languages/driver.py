"""examples/redis-python as a test drives it: an order as JSON on each line of stdin, and an answer on stdout for each."""

import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import redis
from tollgate import Tollgate

LANES = 4  # Checks under way at a time.
url, tag = os.environ["REDIS_URL"], os.environ.get("TAG")
# With a tag it is a cluster's.
client = redis.RedisCluster.from_url(url) if tag else redis.Redis.from_url(url)
tollgate = Tollgate(client, tag=tag)


def bucket(charge):
    if "rule" in charge:
        return tollgate.bucket_of_rule(*charge["rule"])
    return tollgate.bucket(charge["key"], charge["tokens"], charge["burst"], charge["seconds"])


def micros(number):
    return round(number * 10**6) if math.isfinite(number) else -1


def check(order):
    """The same check `times` times."""

    def one(_):
        return tollgate.check(*((bucket(charge), charge["cost"]) for charge in order["charges"]))

    with ThreadPoolExecutor(LANES) as lanes:
        verdicts = list(lanes.map(one, range(order["times"])))
    admitted, last = sum(verdict.admitted for verdict in verdicts), verdicts[-1]
    return {"admitted": admitted, "wait": micros(last.wait_seconds), "remaining": list(map(micros, last.remaining))}


def words(order):
    """A bucket's name and the words of its limit."""
    name, limit = bucket(order["charge"])
    return {"name": name.hex(), "limit": list(map(str, limit))}


for line in sys.stdin:
    order = json.loads(line)
    try:
        answer = {"check": check, "words": words}[order["do"]](order)
    except Exception as error:  # Whatever it is, the test is to know.
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
