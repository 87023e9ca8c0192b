"""redis-py as a test drives it: a JSON object on each line of stdin, and one on stdout for each."""

import json
import sys

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry


class Door:
    """The one client, which connects again by itself."""

    client = None

    def connect(self, order):
        self.client = redis.Redis(
            host="127.0.0.1",
            port=order["port"],
            protocol=order["protocol"],
            password=order["password"],
            client_name=order["name"],
            decode_responses=True,
            # By default it tries as often, and for seconds.
            retry=Retry(ConstantBackoff(0.05), 10),
        )
        return self.client.ping()

    def ask(self, order):
        words = order["words"]
        if words[0] == "COMMAND":  # The library knows its replies by both words.
            words = [" ".join(words[:2]), *words[2:]]
        return self.client.execute_command(*words)

    def pipeline(self, order):
        pipeline = self.client.pipeline(transaction=False)
        for words in order["requests"]:
            pipeline.execute_command(*words)
        return [told(reply) for reply in pipeline.execute(raise_on_error=False)]

    def transaction(self, order):
        pipeline = self.client.pipeline()
        for words in order["requests"]:
            pipeline.execute_command(*words)
        return [told(reply) for reply in pipeline.execute(raise_on_error=False)]


def told(reply):
    if isinstance(reply, redis.ResponseError | redis.AuthenticationError):
        return {"error_reply": str(reply)}
    if isinstance(reply, Exception):
        return {"failure": repr(reply)}
    return {"reply": reply}


def main():
    door = Door()
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(door, order["do"])(order)
        except Exception as error:  # Whatever it is, the test is to know.
            answer = error
        print(json.dumps(told(answer), default=str), flush=True)


main()
