"""Twelve requests of user 42 at once, against 10 tokens of the user's own and 1,000 of everyone's."""
import os
import redis
from tollgate import Tollgate

tollgate = Tollgate(redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")))
user = tollgate.bucket("user:42", tokens=5, burst=10)
everyone = tollgate.bucket("everyone", tokens=500, burst=1000)

for request in range(1, 13):
    admitted, remaining, wait = tollgate.check((user, 1), (everyone, 1))
    left = " and ".join(str(int(tokens)) for tokens in remaining)
    print(f"{request}: {'admitted' if admitted else f'denied, ask again in {wait} s'}; left: {left}")
