-- Tollgate, the shared ledger, version 1: how many instances there are. Each says that it is there, and is told how many are, and how many
-- were at the most.
--
-- KEYS[1]: a sorted set: an instance's name by the microseconds when it last said so, and `most` by the largest number there ever was.
-- ARGV: version; the time in microseconds, for tests, or 0; the instance's name, or nothing to only look; after how many microseconds of
-- silence an instance counts as gone; for how many milliseconds the set is kept; the most instances that are counted.
-- Reply: how many there are; how many there were at the most.

local argv, key = ARGV, KEYS[1]
if argv[1] ~= '1' then
  return redis.error_reply('TOLLGATEVERSION the script is of version 1, the call of version ' .. tostring(argv[1]))
end
local now = tonumber(argv[2])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local limit = tonumber(argv[6])
local function times(micros) return string.format('%.0f', micros) end
-- Times are far above every number of instances, so `most` stays.
redis.call('ZREMRANGEBYSCORE', key, '(' .. argv[6], times(now - argv[4]))
-- A clock that was set back: whoever is ahead of it by more than the silence is counted anew when it comes.
redis.call('ZREMRANGEBYSCORE', key, '(' .. times(now + argv[4]), '+inf')
local most = tonumber(redis.call('ZSCORE', key, 'most') or '0')
local count = redis.call('ZCARD', key) - (most > 0 and 1 or 0)
if argv[3] ~= '' then
  if redis.call('ZSCORE', key, argv[3]) then
    redis.call('ZADD', key, times(now), argv[3])
  elseif count < limit then
    redis.call('ZADD', key, times(now), argv[3])
    count = count + 1
  end
  if count > most then
    most = count
    redis.call('ZADD', key, most, 'most')
  end
  redis.call('PEXPIRE', key, argv[5])
end
return { count, most }
