-- Tollgate, the shared ledger, version 1: the limits that a rule has had. Reads them, or writes them anew if nobody else did meanwhile.
--
-- KEYS[1]: the rule's record. ARGV: version; the time in microseconds, for tests, or 0; for how many milliseconds the record is kept from
-- now on; then, to write: the time that the new record was made for, the record that it continues (empty if there was none), the new one.
-- Reply: the time; the record in force, or an empty text; 1 if it was written by this call, else 0.
-- A record is text that only nodes read: docs/redis-script.md describes it.

local argv = ARGV
if argv[1] ~= '1' then
  return redis.error_reply('TOLLGATEVERSION the script is of version 1, the call of version ' .. tostring(argv[1]))
end
local now = tonumber(argv[2])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local record = redis.call('GET', KEYS[1]) or ''
-- A node that paused must ask for the time again: its limit would begin in the past.
if #argv > 3 and record == argv[5] and now - tonumber(argv[4]) <= 1000000 then
  redis.call('SET', KEYS[1], argv[6], 'PX', argv[3])
  return { now, argv[6], 1 }
end
-- Whoever reads it keeps it alive, and seldom writes for that.
if record ~= '' and redis.call('PTTL', KEYS[1]) < argv[3] / 2 then
  redis.call('PEXPIRE', KEYS[1], argv[3])
end
return { now, record, 0 }
