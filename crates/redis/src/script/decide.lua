-- Tollgate, the shared ledger, version 1: one call decides a batch of checks, each over several buckets, all or nothing.
--
-- Promises: reads everything first and writes last, so a call that fails has changed nothing; a denial writes nothing, but where the
-- clock was set back by more than a second or the bucket changes its tier; the clock is read once; arithmetic is that of
-- tollgate-core, bit for bit: whole numbers in doubles, none above 2^53, divided by fmod alone.
-- Does not know: rules, names, nodes. KEYS, ARGV and the reply are a contract; docs/redis-script.md describes it.
--
-- ARGV[2] is the time in microseconds, for tests; 0 in production: then it is the server's own. Whoever may call this may
-- also write the keys, so it opens no door.

local argv, keys = ARGV, KEYS
local fmod, call, floor, byte = math.fmod, redis.call, math.floor, string.byte
local format, unpack_words, pack_words = string.format, struct.unpack, struct.pack

if argv[1] ~= '1' then
  return redis.error_reply('TOLLGATEVERSION the script is of version 1, the call of version ' .. tostring(argv[1]))
end
local EXACT = 9007199254740992 -- 2^53
local BURST_MAX = 9000000000000000 -- micro-tokens
local SET_BACK = 1000000 -- a stamp further ahead than this: the clock was set back for good
local PLAINLY_ADMITTED = 5 -- only balances follow: no wait, and no stamp ahead
local KEY_NUMBERS_MAX = 1024 -- of one item: what it is told must fit on Lua's stack
local REMEMBERED = 604800000000 -- a reset is remembered for a week: the longest that a reservation may be open

local now = argv[2] + 0
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local values = argv[3] + 0 -- keys that hold one; sorted sets come after them

-- A limit that can be kept exactly: no product is above 2^53.
local function is_sound(num, den, burst)
  return num >= 1 and den >= 1 and (num + 1) * den < EXACT and burst >= 1 and burst <= BURST_MAX
end

-- The short way, for what nearly every call is: many checks of token buckets whose limits did not change lately. The same arithmetic
-- as below, in one place and without a function for every step; whatever is out of the ordinary is left to the long way, from the start.
local function decide_plainly()
  -- Where in the arguments the words of each limit begin.
  local at, words_at = 4, {}
  for i = 1, argv[4] + 0 do
    local kind = argv[at + 1]
    if kind ~= 'b' and kind ~= 'e' then return nil end
    words_at[i] = at
    at = at + (kind == 'b' and 8 or 4)
  end
  if values < 1 then return nil end
  -- By the number of the key: what it holds, as text until it is charged; then what it was charged by, and its stamp if that is ahead.
  local raw, terms_of, stamps = call('MGET', unpack(keys, 1, values)), {}, {}
  local of_key, of_level, of_upto, of_wait = {}, {}, {}, {} -- the buckets of one check
  local reply, parts, last, is_absence_sure = { now }, 1, #argv, false
  while at < last do
    local op, count = argv[at + 1], argv[at + 2] + 0
    if op ~= 'm' and op ~= 'c' or count < 1 then return nil end
    at = at + 2
    -- Of each bucket of such a check: what it mints, since when, what is asked of it, how long its key is kept by a missing token.
    local terms, numbers = {}, {}
    for i = 1, count do
      if op == 'c' then
        at = at + 1
        numbers[2 * i - 1], numbers[2 * i] = 0, argv[at] + 0
      end
      local words, cost, keep = words_at[argv[at + 1] + 0], argv[at + 2] + 0, argv[at + 3] + 0
      at = at + 3
      if not (words and cost >= 0 and keep >= 0 and cost + keep < EXACT) or cost % 1 ~= 0 or keep % 1 ~= 0 then return nil end
      local num, den, burst, from, frac = argv[words + 2] + 0, argv[words + 3] + 0, argv[words + 4] + 0, 0, 0
      local slow = den / num
      if argv[words + 1] == 'b' then
        from, frac, slow = argv[words + 5] + 0, argv[words + 6] + 0, argv[words + 8] / argv[words + 7]
      end
      if not is_sound(num, den, burst) then return nil end
      -- What is minted until now, as in `minted`: whole periods of `den`, and what comes on top.
      local y = now > from and now - from or 0
      local ry = fmod(y, den)
      local py = ry * num + frac
      terms[i] = { num, den, burst, from, frac, cost, cost + keep, slow * 1.001, y - ry, (py - fmod(py, den)) / den }
    end
    if op == 'm' then
      at = at + 1
      numbers = { byte(argv[at], 1, -1) }
    end
    local next, out, told = 1, {}, 0
    if fmod(#numbers, 2 * count) ~= 0 then return nil end
    for _ = 1, #numbers / 2 / count do
      local status, is_ahead = 1, false
      for i = 1, count do
        local k, s = numbers[next] * 256 + numbers[next + 1], terms[i]
        next = next + 2
        local b, t, burst, upto, wait = raw[k], nil, s[3], now, 0
        if terms_of[k] then
          t = stamps[k] or now
        elseif b then
          local size = #b
          local layout = size == 11 and '>I7i4' or size == 12 and '>I7i5' or size == 13 and '>I7i6' or size == 14 and '>I7i7'
          if not layout then return nil end
          t, b = unpack_words(layout, b)
          if t >= EXACT then return nil end
        elseif b == nil then
          return nil
        elseif not is_absence_sure then
          -- MGET says nothing of a key of another type, which must not be overwritten.
          local absent, found = {}, 0
          for j = 1, values do
            if not raw[j] then
              found = found + 1
              absent[found] = keys[j]
            end
          end
          if call('EXISTS', unpack(absent)) > 0 then return nil end
          is_absence_sure = true
        end
        if not b then
          b = burst
        else
          if t > now then
            if t - now > SET_BACK then return nil end
            upto, is_ahead = t, true
          else
            local num, den, x = s[1], s[2], t - s[4]
            if x < 0 then x = 0 end
            if den == 1 then
              b = b + (s[9] - x) * num
            else
              local rx = fmod(x, den)
              local px = rx * num + s[5]
              b = b + ((s[9] - (x - rx)) / den * num + (s[10] - (px - fmod(px, den)) / den))
            end
          end
          if b > burst then b = burst end
        end
        local need = s[7]
        if need > burst then
          status, wait = 2, -1
        elseif b < need then
          if status == 1 then status = 0 end
          -- As in `time_to_mint`.
          local num, den, from, frac = s[1], s[2], s[4], s[5]
          local begin = upto > from and upto or from
          local r = fmod(begin - from, den)
          local p = r * num + frac
          local n = (p - fmod(p, den)) / den + need - b
          local rest = fmod(n, num)
          local y = rest * den - frac
          local yr = fmod(y, num)
          wait = begin - r + (n - rest) / num * den + (y - yr) / num - now
          if yr > 0 then wait = wait + 1 end
        end
        for j = 1, i - 1 do
          if of_key[j] == k then return nil end
        end
        of_key[i], of_level[i], of_upto[i], of_wait[i] = k, b, upto, wait
      end
      -- Told in order, for Lua keeps a list that is filled otherwise as a hash.
      local is_short = op == 'm' and status == 1 and not is_ahead
      told = told + 1
      out[told] = is_short and PLAINLY_ADMITTED or status
      for i = 1, count do
        local b = of_level[i]
        if status == 1 then
          local k, s, upto = of_key[i], terms[i], of_upto[i]
          b = b - s[6]
          raw[k], terms_of[k] = b, s
          if is_ahead then stamps[k] = upto end
        end
        told = told + 1
        out[told] = b
        if not is_short then
          out[told + 1], out[told + 2] = of_wait[i], of_upto[i] - now
          told = told + 2
        end
      end
    end
    if op == 'm' then
      parts = parts + 1
      reply[parts] = pack_words('>' .. string.rep('i8', told), unpack(out, 1, told))
    else
      for i = 1, told do reply[parts + i] = out[i] end
      parts = parts + told
    end
  end
  local milliseconds = {} -- by whole seconds: of most calls few
  for k = 1, values do
    local s = terms_of[k]
    if s then
      -- Charged by a check, so not in debt.
      local b, t = raw[k], stamps[k] or now
      local seconds = floor(((s[3] - b) * s[8] + (t - now)) / 1000000)
      local kept = milliseconds[seconds]
      if not kept then
        kept = format('%d', seconds * 1000 + 1900)
        milliseconds[seconds] = kept
      end
      local layout = b < 2147483648 and '>I7i4' or b < 549755813888 and '>I7i5' or b < 140737488355328 and '>I7i6' or '>I7i7'
      call('SET', keys[k], pack_words(layout, t, b), 'PX', kept)
    end
  end
  return reply
end
local plainly = decide_plainly()
if plainly then return plainly end

-- The long way: what the keys hold, read once ---------------------------------------------------------------------------------
local WRONG_TYPE, UNKNOWN_STATE, TWICE = 1, 2, 3
local raw, faults = {}, {} -- by the number of the key
-- A key of another type is the item's affair; any other error is the call's.
local function fault_of(reply)
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply.err) end
  return WRONG_TYPE
end
if values > 0 then
  raw = call('MGET', unpack(keys, 1, values))
  for k = 1, values do
    -- MGET says nothing of a key of another type, which must not be overwritten.
    if not raw[k] and call('EXISTS', keys[k]) > 0 then faults[k] = WRONG_TYPE end
  end
end

-- The words of the call, one after the other ------------------------------------------------------------------------------
local at = 4
local function word()
  at = at + 1
  return argv[at]
end
local function number()
  at = at + 1
  return tonumber(argv[at])
end
-- An amount: whole, not negative, exact. Anything else fails the call, before anything is written.
local function amount()
  at = at + 1
  local a = tonumber(argv[at])
  if not (a and a >= 0 and a <= EXACT and a == floor(a)) then
    error('TOLLGATEARGUMENT word ' .. at .. ' is no amount')
  end
  return a
end

local limits, families = {}, {} -- a family: the limits of one rule, by the tag of their tier
for i = 1, tonumber(argv[4]) do
  local kind = word()
  if kind == 'b' then
    limits[i] = { k = 't', num = number(), den = number(), burst = number(), from = number(), frac = number() }
    limits[i].slow = { number(), number() }
  elseif kind == 'e' then
    limits[i] = { k = 'e', num = number(), den = number(), burst = number(), from = 0, frac = 0 }
  elseif kind == 'j' then
    local L = cjson.decode(word())
    limits[i] = L
    if L.fam then
      families[L.fam] = families[L.fam] or {}
      families[L.fam][L.tag] = L
    end
  else
    error('TOLLGATEARGUMENT word ' .. at .. ' is no kind of limit')
  end
  local L = limits[i]
  if L.num and not is_sound(L.num, L.den, L.burst) then
    error('TOLLGATEARGUMENT the limit before word ' .. at .. ' cannot be kept exactly')
  end
end

-- State ---------------------------------------------------------------------------------------------------------------------
local held, stamps, tags, resets = {}, {}, {}, {} -- a bucket taken apart: held[k] is false if it is absent
local leases = {} -- of a bucket of which nodes hold slices: {epoch, when it ends, held in it, held from the one before, life}
local passed, asked = {}, {} -- what `leases` has become by now, by the last look; whether a node has asked for a slice
local changed = {} -- the limit by which a bucket's TTL is computed, if it must be written
local written = {} -- other values to be written: {value, milliseconds}, or false to delete

-- A bucket: seven bytes of stamp, four to seven of balance. With the highest bit set there is more: a tier's tag, a reset.
local FORMATS = { [11] = '>I7i4', [12] = '>I7i5', [13] = '>I7i6', [14] = '>I7i7' }
local function read_more(k, value, first)
  local more = first - 128
  local has_tag, has_reset = more >= 64, fmod(more, 64) >= 32
  local size = #value - 7 - (has_tag and 2 or 0) - (has_reset and 7 or 0)
  if size < 4 or size > 7 then
    faults[k] = UNKNOWN_STATE
    return
  end
  local _, low, balance, next = unpack_words('>BI6i' .. size, value)
  held[k], stamps[k] = balance, fmod(more, 32) * 281474976710656 + low
  if has_tag then tags[k], next = unpack_words('>I2', value, next) end
  if has_reset then resets[k] = unpack_words('>I7', value, next) end
end
-- With slices out: the mark, what more there is, and all of it at full length.
local LEASED, LEASED_FORMAT, LEASED_BYTES = 108, '>BBI7i7I7I7I7I7I4', 48
local function read_leased(k, value)
  local more = string.byte(value, 2) or 0
  local has_tag, has_reset = more >= 64, fmod(more, 64) >= 32
  if #value ~= LEASED_BYTES + (has_tag and 2 or 0) + (has_reset and 7 or 0) then
    faults[k] = UNKNOWN_STATE
    return
  end
  local _, _, t, b, epoch, ends, new, old, life, next = unpack_words(LEASED_FORMAT, value)
  held[k], stamps[k], leases[k] = b, t, { epoch, ends, new, old, life }
  if has_tag then tags[k], next = unpack_words('>I2', value, next) end
  if has_reset then resets[k] = unpack_words('>I7', value, next) end
end
local function read(k)
  local value = raw[k]
  if not value then
    held[k] = false
    return
  end
  local first, layout = string.byte(value, 1), FORMATS[#value]
  if first == LEASED then return read_leased(k, value) end
  if first and first >= 128 then
    read_more(k, value, first)
  elseif first and first < 32 and layout then
    stamps[k], held[k] = unpack_words(layout, value)
  else
    faults[k] = UNKNOWN_STATE
  end
end

-- What a rate mints -------------------------------------------------------------------------------------------------------
-- V(x) = floor(((x - from) * num + frac) / den), and nothing before `from`; a window's V grows by its quota all at once.
local windows -- set where there is one
local function minted(s, x, y)
  if s.window then return (windows(s, y) - windows(s, x)) * s.burst end
  local num, den, frac = s.num, s.den, s.frac
  x, y = x - s.from, y - s.from
  if x < 0 then x = 0 end
  if y < 0 then y = 0 end
  local rx, ry = fmod(x, den), fmod(y, den)
  local px, py = rx * num + frac, ry * num + frac
  -- Above 2^53 the sum is not exact, but above what any bucket lacks.
  return ((y - ry) - (x - rx)) / den * num + ((py - fmod(py, den)) / den - (px - fmod(px, den)) / den)
end

-- How long after `x` another `missing` are minted by `s`.
local function time_to_mint(s, missing, x)
  local num, den, frac = s.num, s.den, s.frac
  local begin = x > s.from and x or s.from
  local r = fmod(begin - s.from, den)
  local p = r * num + frac
  local n = (p - fmod(p, den)) / den + missing
  local rest = fmod(n, num)
  local y = rest * den - frac
  local yr = fmod(y, num)
  local steps = (n - rest) / num * den + (y - yr) / num
  if yr > 0 then steps = steps + 1 end
  return begin - r + steps - x
end

-- The most that can be stored: a full bucket, or an empty queue; of a bucket of which nodes hold slices, what is left beside them.
local function cap(L, s, out)
  if L.k == 'q' then return 0 end
  if out then return s.burst > out and s.burst - out or 0 end
  return s.burst
end

-- A debt beside slices is kept down to a burst, or to what 35 years repay if that is more: a wait for it can be told exactly.
local REPAID = 1125899906842624 -- 2^50 microseconds
local function kept(s, b)
  if b >= -s.burst and b >= s.burst - BURST_MAX then return b end
  local debt = floor(REPAID / s.den) * s.num
  if debt < s.burst then debt = s.burst end
  if debt > BURST_MAX - s.burst then debt = BURST_MAX - s.burst end
  return b < -debt and -debt or b
end

-- What `b` at `t` has become at `upto`, through the limits that the rule had since. `past` is newest first.
local function carry(L, b, t, upto, out)
  local past, stamp = L.past, t
  local count = #past
  local oldest = past[count].from
  if t < oldest then
    local low, till = L.low, oldest < upto and oldest or upto
    if low and t < till then
      b = b + minted({ num = low[1], den = low[2], from = t, frac = 0 }, t, till)
      local most = cap(L, { burst = low[3] }, out)
      if b > most then b = most end
    end
    if t < till then t = till end
  end
  for i = count, 1, -1 do
    local s = past[i]
    local till = i == 1 and L.from or past[i - 1].from
    if till > upto then till = upto end
    -- Also through a limit that was in force for no time at all: its burst clamps.
    if stamp < till and s.from <= upto then
      if out then b = kept(s, b) end
      b = b + minted(s, t, till)
      local most = cap(L, s, out)
      if b > most then b = most end
      t = till
    end
  end
  if out then b = kept(L, b) end
  b = b + minted(L, t, upto)
  local most = cap(L, L, out)
  if b > most then b = most end
  return b
end

-- The most that any bucket can hold now, or at `upto`: less than full while a raised burst is being refilled into.
local function capacity(L, upto)
  local most = cap(L, L)
  if L.head and L.k ~= 'q' then
    local grown = L.head + minted(L, L.from, upto or now)
    if grown < most then most = grown end
  end
  return most
end

-- What a bucket that is not there holds. It was never charged, or it was full by its TTL; if the rate has become lower than the one
-- that the TTL came from, it may have gone before it was full.
local function absent(L)
  if L.k == 'q' and not L.gone then return 0 end
  local b = capacity(L)
  for _, gone in ipairs(L.gone or {}) do
    local since, most, num, den = gone[1], gone[2], gone[3], gone[4]
    if now > since then
      local left = most - minted({ num = num, den = den, from = since, frac = 0 }, since, now) - 1
      local least = L.k == 'q' and -most or 0
      if L.k == 'q' then left = left - most end
      if left < least then left = least end
      left = carry(L, left, since, now)
      if left < b then b = left end
    end
  end
  return b
end

-- How long after now a bucket that lacks `missing` at `upto` can pay.
local window_wait
local function wait_for(L, missing, upto)
  if L.window then return window_wait(L, missing, upto) end
  local x, past = upto, L.past
  if past and x < L.from then
    -- The clock was set back to before the limit was changed: until then the old ones hold.
    for i = #past, 1, -1 do
      local s = past[i]
      local till = i == 1 and L.from or past[i - 1].from
      if x < till then
        local there = minted(s, x, till)
        if there >= missing then return time_to_mint(s, missing, x) + x - now end
        missing, x = missing - there, till
      end
    end
  end
  return time_to_mint(L, missing, x) + x - now
end

-- Slices ------------------------------------------------------------------------------------------------------------------
-- A node may hold a slice of a bucket and spend it by itself. What is out counts against the burst: balance + held <= burst, for
-- every operation. As `LedgerBucket` of tollgate-core, line by line.

-- What `b` at `t` has become at `upto`, while `out` is held, through the limits that the rule had since.
local function refilled(L, b, t, out, upto)
  if L.past and t < L.from then return carry(L, b, t, upto, out), upto end
  b = kept(L, b) + minted(L, t, upto)
  local most = cap(L, L, out)
  if b > most then b = most end
  return b, upto
end

-- What a bucket with slices out has become: balance, stamp, slices, whether the stamp must follow the clock. When an epoch ends, slices
-- of the one before it that were not renewed count as spent.
local function pass(L, b, t, lease)
  local epoch, ends, new, old, life = unpack(lease)
  local moved = false
  if t > now then
    if t - now <= SET_BACK then
      b, t = refilled(L, b, t, new + old, t)
      return b, t, { epoch, ends, new, old, life }, false
    end
    -- Nothing is credited, and no slice is taken back early.
    t, ends, moved = now, now + life, true
  end
  if now >= ends then
    b, t = refilled(L, b, t, new + old, ends)
    epoch, ends, new, old = epoch + 1, ends + life, 0, new
    if now >= ends then
      b, t = refilled(L, b, t, old, ends)
      epoch, ends, old = epoch + 1, now + life, 0
    end
  end
  b, t = refilled(L, b, t, new + old, now)
  return b, t, { epoch, ends, new, old, life }, moved
end

-- When the balance would be `amount` if the epoch went on for ever; nil if slices take the room for it.
local function reaches(L, b, t, out, amount)
  if b >= amount then return t end
  if amount > cap(L, L, out) then return nil end
  return now + wait_for(L, amount - b, t)
end

-- How long after `from` the balance is `amount`, if nobody asks and no slice is renewed.
local function wait_beside(L, b, t, lease, amount, from)
  local ends, new, old, life = lease[2], lease[3], lease[4], lease[5]
  for _ = 1, 2 do
    local reached = reaches(L, b, t, new + old, amount)
    if reached and reached <= ends then return reached - from end
    b, t = refilled(L, b, t, new + old, ends)
    new, old, ends = 0, new, ends + life
  end
  local reached = reaches(L, b, t, new + old, amount)
  return reached and reached - from or life
end

-- What nodes hold of a bucket, by the last look at it.
local function out_of(k)
  local lease = leases[k] and passed[k]
  return lease and lease[3] + lease[4] or 0
end

-- What a bucket holds, as it would be stored; the moment that counts as now for it; whether its stamp must follow the clock.
local function level_by(L, k)
  local b, t = held[k], stamps[k]
  if not b then return absent(L), now, false end
  if leases[k] then
    local moved
    b, t, passed[k], moved = pass(L, b, t, leases[k])
    return b, t, moved
  end
  local moved, upto = false, now
  if t > now then
    if t - now > SET_BACK then
      t, moved = now, true
    else
      upto = t
    end
  end
  if L.past and t < L.from then return carry(L, b, t, upto), upto, moved end
  b = b + minted(L, t, upto)
  local most = cap(L, L)
  if b > most then b = most end
  return b, upto, moved
end

-- The same of a bucket that may have been last charged on another tier of the rule: its balance comes along, at most full. Then it
-- must be written, whatever comes of the check: from now on the new rate holds.
local RELABELLED = 2
local function level(L, k)
  if not L.fam or not held[k] or (tags[k] or 0) == L.tag then return level_by(L, k) end
  local b, upto = level_by(families[L.fam][tags[k] or 0] or L, k)
  local most = capacity(L) - out_of(k)
  if most < 0 then most = 0 end
  if b > most then b = most end
  return b, upto, RELABELLED
end
local function label(L, k)
  if L.fam then tags[k] = L.tag > 0 and L.tag or nil end
end

-- Milliseconds until a bucket is full by the slowest rate the rule may take, and a margin. What is owed outlives a rate that is cut.
local function lifetime(L, b, t)
  local slow, micros = L.slow, nil
  if L.longest then
    micros = L.longest * (1 + (b < 0 and -b / L.burst or 0))
  else
    local num, den = slow and slow[1] or L.num, slow and slow[2] or L.den
    micros = (cap(L, L) - b) / num * den
    if micros < 0 then micros = 0 end
    if b < 0 and L.k ~= 'q' then micros = micros * 16 end
  end
  if t > now then micros = micros + (t - now) end
  return floor(micros * 1.001 / 1000) + 1001
end

-- Other algorithms, made where one is needed ------------------------------------------------------------------------------
local others
local DAY = 86400000000
local SET_BACK_WINDOWS = 16 -- a word this many windows ahead was written by a clock that is a little faster
local COUNT_MAX, LOG_ENTRIES_MAX = 4194303, 65536

local function make_others()
  others = {}
  local function whole(a, b) return (a - fmod(a, b)) / b end

  -- Windows of the calendar: their number at a time, and when one begins. Months in cycles of 400 years that begin in March.
  local function month_of(day)
    day = day + 719468
    local cycle = whole(day, 146097)
    day = fmod(day, 146097)
    local year = whole(day - whole(day, 1460) + whole(day, 36524) - whole(day, 146096), 365)
    day = day - (365 * year + whole(year, 4) - whole(year, 100))
    return (cycle * 400 + year) * 12 + whole(5 * day + 2, 153) + 2 - 23640
  end
  local function first_day(month)
    local march = month + 23640 - 2
    local year = whole(march, 12)
    local cycle, rest = whole(year, 400), fmod(year, 400)
    local day = whole(153 * fmod(march, 12) + 2, 5) + 365 * rest + whole(rest, 4) - whole(rest, 100)
    return cycle * 146097 + day - 719468
  end
  windows = function(s, x)
    local w = s.window
    if x < s.from then x = s.from end
    x = x + w.early
    if w.micros then return whole(x, w.micros) end
    return whole(month_of(whole(x, DAY)), w.months)
  end
  window_wait = function(L, missing, upto)
    local w, count = L.window, whole(missing, L.burst)
    if fmod(missing, L.burst) > 0 then count = count + 1 end
    local number = windows(L, upto) + count
    if w.micros then return number * w.micros - w.early - now end
    return first_day(number * w.months) * DAY - w.early - now
  end

  -- The number of the span of a sliding counter or of places at this moment, and how much of it is over.
  local function span_now(L)
    local x = now + L.early
    local over = fmod(x, L.span)
    return (x - over) / L.span, over
  end
  -- Numbers after the first byte of a value, which says what it is.
  local function read_numbers(k, mark, layout, count)
    local value = raw[k]
    held[k] = false
    if not value then return end
    if string.byte(value, 1) ~= mark or (#value ~= 14 and #value ~= 21) then
      faults[k] = UNKNOWN_STATE
      return
    end
    local numbers = { unpack_words(layout, value) }
    table.remove(numbers, 1)
    if #value == 21 then resets[k] = unpack_words('>I7', value, numbers[count + 1]) end
    numbers[count + 1] = nil
    held[k] = numbers
  end
  local function write_numbers(L, k, layout, mark, milliseconds)
    local value, forgiven = pack_words(layout, mark, unpack(held[k])), resets[k]
    if forgiven and now - forgiven <= REMEMBERED then
      value = value .. pack_words('>I7', forgiven)
      local kept = floor((forgiven + REMEMBERED - now) / 1000) + 1
      if kept > milliseconds then milliseconds = kept end
    end
    call('SET', keys[k], value, 'PX', format('%.0f', milliseconds))
  end

  -- A sliding counter: the number of its window, what the one before counted, what this one counts ---------------------------
  local counter = {}
  others.n = counter
  function counter.read(L, k) read_numbers(k, 110, '>BI7I3I3', 3) end
  function counter.write(L, k)
    local ahead = held[k][1] - span_now(L)
    write_numbers(L, k, '>BI7I3I3', 110, floor(L.span * (2 + ahead) / 1000) + 1001)
  end
  local function counts(L, k)
    local number, over = span_now(L)
    local c = held[k]
    if not c then return number, over, 0, 0, 0 end
    local behind = number - c[1]
    if behind == 0 then return number, over, c[2], c[3], 0 end
    if behind == 1 then return number, over, c[3], 0, 0 end
    if behind > 1 then return number, over, 0, 0, 0 end
    if behind >= -SET_BACK_WINDOWS then return c[1], 0, c[2], c[3], -behind end
    return number, over, c[2], c[3], 0
  end
  -- ceil(count * part / span); the product may be above 2^53.
  local function share(count, part, span)
    local product = count * part
    if product < EXACT then
      local rest = fmod(product, span)
      return (product - rest) / span + (rest > 0 and 1 or 0)
    end
    local quotient, rest, bit = 0, 0, 4194304
    while bit >= 1 do
      quotient, rest = quotient * 2, rest * 2
      if count >= bit then count, rest = count - bit, rest + part end
      while rest >= span do quotient, rest = quotient + 1, rest - span end
      bit = bit / 2
    end
    return quotient + (rest > 0 and 1 or 0)
  end
  function counter.balance(L, k)
    local _, over, before, here = counts(L, k)
    return L.burst - (share(before, L.span - over, L.span) + here) * L.step
  end
  local function fades_to(before, room, span)
    if before <= room then return 0 end
    local rest = fmod(span, before)
    return span - (room * ((span - rest) / before) + whole(room * rest, before))
  end
  function counter.wait(L, k, need)
    local _, over, before, here, ahead = counts(L, k)
    local room, span = (L.burst - need) / L.step, L.span
    local not_before
    if room >= here then
      not_before = fades_to(before, room - here, span)
    else
      not_before = span + fades_to(here, room, span)
    end
    local until_then = 0
    if ahead > 0 then
      local _, elapsed = span_now(L)
      until_then = ahead * span - elapsed
    end
    return until_then + (not_before > over and not_before - over or 0)
  end
  -- Adds to what this window counts; never below nothing.
  local function count(L, k, more)
    local number, _, before, here = counts(L, k)
    here = here + more
    if here < 0 then here = 0 end
    if here > COUNT_MAX then here = COUNT_MAX end
    held[k], changed[k] = { number, before, here }, L
  end
  function counter.charge(L, k, cost) count(L, k, cost / L.step) end
  function counter.third(L, k)
    local number = counts(L, k)
    return number
  end
  function counter.paid(L, k) return held[k][1] end
  function counter.give(L, k, micros)
    local given = whole(micros, L.step)
    if held[k] and given > 0 then count(L, k, -given) end
  end
  function counter.take(L, k, micros) count(L, k, whole(micros + L.step - 1, L.step)) end
  function counter.give_back(L, k, micros, cost, paid)
    if held[k] and paid == counts(L, k) then counter.give(L, k, micros) end
  end
  function counter.reset(L, k)
    local number = counts(L, k)
    held[k], changed[k] = { number, 0, 0 }, L
  end

  -- Places at work: the number of the generation, and what it and the two before it hold --------------------------------------
  local places = {}
  others.p = places
  function places.read(L, k) read_numbers(k, 112, '>BI7I2I2I2', 4) end
  function places.write(L, k)
    local ahead = held[k][1] - span_now(L)
    write_numbers(L, k, '>BI7I2I2I2', 112, floor(L.span * (3 + ahead) / 1000) + 1001)
  end
  local function taken(L, k)
    local number = span_now(L)
    local c = held[k]
    if not c then return { number, 0, 0, 0 } end
    local behind = number - c[1]
    if behind == 1 then return { number, 0, c[2], c[3] } end
    if behind == 2 then return { number, 0, 0, c[2] } end
    if behind > 2 then return { number, 0, 0, 0 } end
    if behind >= -SET_BACK_WINDOWS then return { c[1], c[2], c[3], c[4] } end
    return { number, c[2], c[3], c[4] }
  end
  function places.balance(L, k)
    local c = taken(L, k)
    return L.burst - (c[2] + c[3] + c[4]) * L.step
  end
  function places.wait(L, k, need)
    local c = taken(L, k)
    local number, over = span_now(L)
    local balance, generations = places.balance(L, k), c[1] - number
    for age = 4, 2, -1 do
      balance, generations = balance + c[age] * L.step, generations + 1
      if balance >= need then break end
    end
    return generations * L.span - over
  end
  function places.charge(L, k, cost)
    local c = taken(L, k)
    c[2] = c[2] + cost / L.step
    held[k], changed[k] = c, L
  end
  -- In which generation a place is taken.
  function places.third(L, k) return taken(L, k)[1] end
  function places.paid(L, k) return held[k][1] end
  function places.give() end
  function places.take() end
  function places.give_back(L, k, micros, cost, generation)
    local c = taken(L, k)
    local age = c[1] - generation
    if age < 0 or age > 2 or not held[k] then return end
    local left = c[2 + age] - whole(cost + L.step - 1, L.step)
    c[2 + age] = left > 0 and left or 0
    held[k], changed[k] = c, L
  end
  function places.reset(L, k)
    local c = taken(L, k)
    held[k], changed[k] = { c[1], 0, 0, 0 }, L
  end

  -- A sliding log: a sorted set of charges, `time:amount` scored by the time; `s:sum` at -1, `r:time` of a reset at -2 ----------
  local log = {}
  others.l = log
  local function decimal(number) return format('%.0f', number) end
  local function amount_of(member) return tonumber(string.match(member, ':(%d+)$')) end
  function log.read(L, k)
    local old = redis.pcall('ZRANGEBYSCORE', keys[k], '-inf', decimal(now - L.span), 'WITHSCORES')
    if old.err then
      faults[k] = fault_of(old)
      return
    end
    local state = { total = 0, expired = 0, add = 0, at = 0 }
    for i = 1, #old, 2 do
      local member, score = old[i], tonumber(old[i + 1])
      if score == -1 then
        state.sum, state.total = member, amount_of(member)
      elseif score == -2 then
        resets[k] = amount_of(member)
      else
        state.expired = state.expired + amount_of(member)
      end
    end
    local youngest = call('ZREVRANGE', keys[k], 0, 0, 'WITHSCORES')
    if youngest[1] and tonumber(youngest[2]) >= 0 then
      state.youngest, state.at = youngest[1], tonumber(youngest[2])
      if not state.sum then faults[k] = UNKNOWN_STATE end
    end
    held[k] = state
  end
  local function used(s) return s.total - s.expired + s.add end
  function log.balance(L, k) return L.burst - used(held[k]) end
  function log.wait(L, k, need)
    local s, skip = held[k], 0
    local missing = need + used(s) - L.burst
    local since = '(' .. decimal(now - L.span)
    while true do
      local some = call('ZRANGEBYSCORE', keys[k], since, '+inf', 'WITHSCORES', 'LIMIT', skip, 64)
      for i = 1, #some, 2 do
        missing = missing - amount_of(some[i])
        if missing <= 0 then return tonumber(some[i + 1]) + L.span - now end
      end
      if #some < 128 then break end
      skip = skip + 64
    end
    if s.add > 0 then return (s.at > now and s.at or now) + L.span - now end
    return L.span
  end
  function log.charge(L, k, cost)
    held[k].add, changed[k] = held[k].add + cost, L
  end
  function log.third(L, k) return held[k].at > now and held[k].at - now or 0 end
  function log.paid(L, k) return held[k].at > now and held[k].at or now end
  local function keep_for(L, k, micros)
    local milliseconds = floor(micros / 1000) + 1001
    if resets[k] then
      local kept = floor((resets[k] + REMEMBERED - now) / 1000) + 1
      if kept > milliseconds then milliseconds = kept end
    end
    call('PEXPIRE', keys[k], decimal(milliseconds))
  end
  local function write_sum(L, k, sum)
    if held[k].sum then call('ZREM', keys[k], held[k].sum) end
    call('ZADD', keys[k], -1, 's:' .. decimal(sum))
    held[k].sum = 's:' .. decimal(sum)
  end
  function log.write(L, k)
    local s, key = held[k], keys[k]
    local at, added = now, s.add
    if s.youngest and s.at >= now then
      at, added = s.at, added + amount_of(s.youngest)
      call('ZREM', key, s.youngest)
    end
    call('ZADD', key, decimal(at), decimal(at) .. ':' .. decimal(added))
    call('ZREMRANGEBYSCORE', key, 0, decimal(now - L.span))
    write_sum(L, k, used(s))
    if call('ZCARD', key) > LOG_ENTRIES_MAX + 2 then
      -- The two oldest count as one, as long as the younger.
      local two = call('ZRANGEBYSCORE', key, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 2)
      call('ZREM', key, two[1], two[3])
      call('ZADD', key, two[4], decimal(tonumber(two[4])) .. ':' .. decimal(amount_of(two[1]) + amount_of(two[3])))
    end
    keep_for(L, k, at - now + L.span)
  end
  -- What was charged in this call is written before anything is given back; afterwards the set is read anew.
  local function settled(L, k)
    if changed[k] then
      log.write(L, k)
      changed[k] = nil
      log.read(L, k)
    end
  end
  local function lessen(L, k, member, score, part)
    call('ZREM', keys[k], member)
    local left = amount_of(member) - part
    if left > 0 then call('ZADD', keys[k], score, decimal(tonumber(score)) .. ':' .. decimal(left)) end
    write_sum(L, k, held[k].total - part)
    log.read(L, k)
  end
  function log.give(L, k, micros)
    settled(L, k)
    local since = '(' .. decimal(now - L.span)
    while micros > 0 do
      local last = call('ZREVRANGEBYSCORE', keys[k], '+inf', since, 'WITHSCORES', 'LIMIT', 0, 1)
      if not last[1] then return end
      local part = amount_of(last[1])
      if part > micros then part = micros end
      lessen(L, k, last[1], last[2], part)
      micros = micros - part
    end
  end
  function log.take(L, k, micros) if micros > 0 then log.charge(L, k, micros) end end
  function log.give_back(L, k, micros, cost, at)
    settled(L, k)
    if now - at >= L.span then return end
    local found = call('ZRANGEBYSCORE', keys[k], decimal(at), decimal(at), 'WITHSCORES')
    if not found[1] then return end
    local part = amount_of(found[1])
    if part > micros then part = micros end
    if part > 0 then lessen(L, k, found[1], found[2], part) end
  end
  function log.reset(L, k)
    settled(L, k)
    call('DEL', keys[k])
    resets[k] = now
    call('ZADD', keys[k], -2, 'r:' .. decimal(now))
    keep_for(L, k, 0)
    log.read(L, k)
  end
end
for i = 1, #limits do
  local L = limits[i]
  if L.k == 'w' or L.k == 'n' or L.k == 'p' or L.k == 'l' then
    if not others then make_others() end
    L.other = others[L.k]
  end
end

local function read_bucket(L, k)
  if L.other then L.other.read(L, k) else read(k) end
  if leases[k] and L.k ~= 't' then faults[k] = UNKNOWN_STATE end
end

-- Checks ------------------------------------------------------------------------------------------------------------------
local out, told = { now }, 1
local function tell(a)
  told = told + 1
  out[told] = a
end

local of_key, of_limit, of_cost, of_level, of_upto, of_moved = {}, {}, {}, {}, {}, {}
local balances, waits, thirds = {}, {}, {}

-- Decides over `count` buckets; 0 denied, 1 admitted, 2 never; or a negative fault. Their keys are `numbers`, or stand before each.
local function decide(count, numbers)
  local status, fault = 1, nil
  for i = 1, count do
    local k = numbers and numbers[i] or number()
    local L, cost, keep = limits[number()], amount(), amount()
    of_key[i], of_limit[i], of_cost[i] = k, L, cost
    local other = L.other
    if held[k] == nil and not faults[k] then read_bucket(L, k) end
    if faults[k] then
      fault = fault or faults[k]
    else
      for j = 1, i - 1 do
        if keys[of_key[j]] == keys[k] then fault = fault or TWICE end
      end
      local need, wait, b, upto, moved, balance = cost + keep, 0, 0, now, false, 0
      if other then
        -- Counted in steps, rounded up.
        local step = L.step
        cost = cost + fmod(step - fmod(cost, step), step)
        need = cost + keep + fmod(step - fmod(keep, step), step)
        of_cost[i], balance = cost, other.balance(L, k)
      else
        b, upto, moved = level(L, k)
        balance = L.k == 'q' and b + L.burst or b
      end
      if need > L.burst then
        status, wait = 2, -1
      else
        if L.least and L.least > need then need = L.least end
        if balance < need then
          if status == 1 then status = 0 end
          if leases[k] then
            wait = wait_beside(L, b, upto, passed[k], need, now)
          else
            wait = other and other.wait(L, k, need) or wait_for(L, need - balance, upto)
          end
        end
      end
      of_level[i], of_upto[i], of_moved[i] = b, upto, moved
      balances[i], waits[i], thirds[i] = balance, wait, other and other.third(L, k) or upto - now
    end
  end
  if fault then return -fault end
  return status
end

-- Charges what was decided, if it was admitted.
local function settle_check(count, status)
  for i = 1, count do
    local k, other = of_key[i], of_limit[i].other
    if status == 1 and other then
      other.charge(of_limit[i], k, of_cost[i])
      balances[i] = balances[i] - of_cost[i]
    elseif status == 1 then
      held[k], stamps[k], changed[k] = of_level[i] - of_cost[i], of_upto[i], of_limit[i]
      balances[i] = balances[i] - of_cost[i]
      if leases[k] then leases[k] = passed[k] end
      label(of_limit[i], k)
    elseif status == 0 and (of_moved[i] == RELABELLED or of_moved[i] and leases[k]) then
      held[k], stamps[k], changed[k] = of_level[i], of_upto[i], of_limit[i]
      if leases[k] then leases[k] = passed[k] end
      label(of_limit[i], k)
    elseif status == 0 and of_moved[i] then
      stamps[k], changed[k] = now, of_limit[i]
    end
  end
end

-- How long until a bucket of another algorithm is full; of token buckets whoever asks can tell.
local function time_to_full(L, k)
  if L.other.balance(L, k) >= L.burst then return 0 end
  return L.other.wait(L, k, L.burst)
end

local function tell_check(count, status)
  if status < 0 then
    tell(9)
    tell(-status)
    return
  end
  tell(status)
  for i = 1, count do
    tell(balances[i])
    tell(waits[i])
    tell(thirds[i])
    if of_limit[i].other then tell(time_to_full(of_limit[i], of_key[i])) end
  end
end

-- What a record holds, or will hold after this call.
local function record_of(k)
  local record = written[k]
  if record == nil then return raw[k] end
  return record and record[1]
end

-- What was told before is told again, as of when it was told; false if it was not told.
local function tell_again(k, count)
  local value = record_of(k)
  if not value then return false end
  local line = string.match(value, '^1 ([-%d ]+)')
  local said = {}
  for digits in string.gmatch(line or '', '%-?%d+') do said[#said + 1] = tonumber(digits) end
  local expected = 1
  for i = 1, count do
    expected = expected + (limits[tonumber(argv[at + 4 * i - 2])].other and 4 or 3)
  end
  if #said ~= expected then
    tell(9)
    tell(UNKNOWN_STATE)
    return true
  end
  tell(3)
  for i = 1, #said do tell(said[i]) end
  return true
end

-- The verdict of an admitted check, as it is written down.
local function verdict_line(count)
  local words = { format('1 %.0f', now) }
  for i = 1, count do
    words[#words + 1] = format('%.0f %.0f %.0f', balances[i], waits[i], thirds[i])
    if of_limit[i].other then words[#words + 1] = format('%.0f', time_to_full(of_limit[i], of_key[i])) end
  end
  return table.concat(words, ' ')
end

-- Operations on one bucket ------------------------------------------------------------------------------------------------
local function offset(L) return L.k == 'q' and L.burst or 0 end

local function store(L, k, b, t)
  held[k], stamps[k], changed[k] = b, t, L
  if leases[k] then leases[k] = passed[k] end
  label(L, k)
end

-- The limit that a bucket stands under: that of the tier it was last charged on.
local function standing(L, k)
  local family = L.fam and held[k] and families[L.fam]
  return family and family[tags[k] or 0] or L
end

-- What an operation makes of a bucket of another algorithm.
local function change_other(L, k, operation, ...)
  local before = L.other.balance(L, k)
  L.other[operation](L, k, ...)
  return before, L.other.balance(L, k)
end

-- Gives up to `micros`, until the bucket is full. A queue takes nothing back: others have been told when to leave.
local function give(L, k, micros)
  if L.other then return change_other(L, k, 'give', micros) end
  L = standing(L, k)
  local b, upto = level(L, k)
  local after, most = b + micros, capacity(L)
  if leases[k] then
    most = most - out_of(k)
    if most < 0 then most = 0 end
  end
  if after > most then after = most end
  if held[k] and L.k ~= 'q' and after > b then store(L, k, after, upto) else after = b end
  return b + offset(L), after + offset(L)
end

-- Takes up to `micros`, into debt if need be, but no deeper than `debt`.
local function take(L, k, micros, debt)
  if L.other then
    local most = L.other.balance(L, k) + debt
    if most < 0 then most = 0 end
    return change_other(L, k, 'take', micros < most and micros or most)
  end
  L = standing(L, k)
  local b, upto = level(L, k)
  local most = b + offset(L) + debt
  if most < 0 then most = 0 end
  if micros > most then micros = most end
  if micros > 0 then
    if L.k == 'e' and held[k] and b < L.burst then
      -- The rate since the stamp is for the bucket's next check to say.
      store(L, k, held[k] - micros, stamps[k] - now > SET_BACK and now or stamps[k])
    else
      store(L, k, b - micros, upto)
    end
  end
  return b + offset(L), b + offset(L) - micros
end

-- Gives back up to `micros` of a charge of `cost` that left the bucket at `paid` at `made`: no more than if it had never been made.
local function give_back(L, k, micros, cost, paid, made)
  if L.other then
    if resets[k] and made <= resets[k] then return change_other(L, k, 'balance') end
    return change_other(L, k, 'give_back', micros, cost, paid)
  end
  -- What was charged under another tier, whose burst is another, is lost.
  local is_elsewhere = standing(L, k) ~= L
  L = standing(L, k)
  local b, upto = level(L, k)
  local before = b + offset(L)
  if is_elsewhere or not held[k] or (resets[k] and made <= resets[k]) then return before, before end
  if L.past and made < L.past[#L.past].from then return before, before end
  if L.k == 'q' then
    -- Only the last one in: others have been told when to leave.
    if held[k] ~= paid or stamps[k] ~= made then return before, before end
    store(L, k, b + micros > 0 and 0 or b + micros, upto)
    return before, held[k] + offset(L)
  end
  local untouched = paid
  if L.k == 'e' then
    if now > made then untouched = paid + minted({ num = L.num, den = L.den, from = made, frac = 0 }, made, now) end
  elseif made < upto then
    -- Not clamped: what would have run over is lost.
    local x, past = made, L.past or {}
    for i = #past, 1, -1 do
      local till = i == 1 and L.from or past[i - 1].from
      if till > upto then till = upto end
      if x < till then
        untouched, x = untouched + minted(past[i], x, till), till
      end
    end
    untouched = untouched + minted(L, x, upto)
  end
  local full = capacity(L)
  local worth = full - untouched
  if worth > cost then worth = cost end
  if worth > micros then worth = micros end
  if worth <= 0 then return before, before end
  if L.k == 'e' then
    local room = L.burst - held[k]
    if worth > room then worth = room end
    if worth <= 0 then return before, before end
    store(L, k, held[k] + worth, stamps[k])
    local after = level(L, k)
    return before, after
  end
  local after = b + worth
  full = full - out_of(k)
  if full < b then full = b end
  if after > full then after = full end
  store(L, k, after, upto)
  return before, after
end

-- Fills a bucket. What was charged before is not given back after it, so the moment is remembered.
local function reset(L, k)
  if L.other then
    local before, after = change_other(L, k, 'reset')
    resets[k] = now
    return before, after
  end
  L = standing(L, k)
  local b, upto = level(L, k)
  local full = capacity(L) - out_of(k)
  if full < 0 then full = 0 end
  resets[k] = now
  -- Where the limit comes with the call, full by any limit.
  store(L, k, L.k == 'e' and BURST_MAX or full, upto)
  return b + offset(L), full + offset(L)
end

-- A node asks for a slice, reports what it holds and gives back ---------------------------------------------------------------
-- As `ask_ledger` of tollgate-core, line by line. The record: the ask's number, the bucket's epoch, and what was said.
local LIFE_MAX = 60000000 -- the longest life of a slice: a minute
local RECORD, RECORD_FORMAT, RECORD_BYTES = 97, '>BI7I7I7I7I7i7', 43
local function tell_answer(granted, wait, out, b)
  tell(1)
  tell(granted)
  tell(wait)
  tell(out)
  tell(b)
end
local function ask(L, k, record, seq, unspent, back, want, least, ahead, life)
  local value, known = record_of(record), 0
  local epoch_then, held_then
  if value then
    if #value ~= RECORD_BYTES or string.byte(value, 1) ~= RECORD then
      tell(9)
      tell(UNKNOWN_STATE)
      return
    end
    local _, seq_then, granted, wait, balance
    _, seq_then, epoch_then, granted, wait, held_then, balance = unpack_words(RECORD_FORMAT, value)
    if seq < seq_then then
      tell(4)
      return
    elseif seq == seq_then then
      tell_answer(granted, wait, held_then, balance)
      return
    end
  end
  local b, t, moved = level(L, k)
  local lease = leases[k] and passed[k] or { now, t + life, 0, 0, life }
  -- A slice lives as long as whoever lives longest says.
  if lease[5] < life then lease[5] = life end

  -- What the node reports replaces what it was known to hold. It cannot hold more than it was given.
  local sum = epoch_then and (epoch_then == lease[1] and 3 or epoch_then + 1 == lease[1] and 4)
  if sum then
    known = held_then < lease[sum] and held_then or lease[sum]
    lease[sum] = lease[sum] - known
  end
  if unspent > known then unspent = known end
  if back > known - unspent then back = known - unspent end
  local beside = lease[3] + lease[4] + unspent
  local room = L.burst - beside
  -- No more is given back than there is room for, where the burst was lowered meanwhile; though it was raised again.
  local most = capacity(L, t) - beside
  if most < 0 then most = 0 end
  if most < b then most = b end
  b = b + back
  if b > most then b = most end

  if want > L.burst then want = L.burst end
  if least < 1 then least = 1 end
  if least > want then least = want end
  local granted, wait = 0, 0
  if want > 0 then
    if b >= want then
      granted = want
    elseif want - b <= ahead and want <= room then
      -- Ahead of time: it is minted soon, and the bucket has room to mint it.
      granted, wait = want, time_to_mint(L, want - b, t)
    elseif b >= least then
      granted = b
    end
  end
  b = b - granted
  lease[3] = lease[3] + unspent + granted
  if granted == 0 and want > 0 then wait = wait_beside(L, b, t, lease, least, t) end
  -- A clock behind the stamp mints nothing until it has caught up.
  if wait > 0 and t > now then wait = wait + (t - now) end
  if granted > 0 or known > 0 or moved then
    passed[k], leases[k], asked[k] = lease, lease, true
    store(L, k, b, t)
    local said = pack_words(RECORD_FORMAT, RECORD, seq, lease[1], granted, wait, unspent + granted, b)
    written[record] = { said, floor(2 * lease[5] / 1000) + 1001 }
  end
  tell_answer(granted, wait, unspent + granted, b)
end

-- The items of the batch --------------------------------------------------------------------------------------------------
local function bucket()
  local k, L = number(), limits[number()]
  if held[k] == nil and not faults[k] then read_bucket(L, k) end
  return k, L
end
local function tell_change(before, after)
  tell(1)
  tell(before)
  tell(after)
end

-- Many checks that are alike but for their keys. What they are told is one string.
local function decide_many()
  local count, began = number(), at
  at = began + 3 * count
  local list, numbers = word(), {}
  if count < 1 or fmod(#list, 2 * count) ~= 0 or #list > 2 * KEY_NUMBERS_MAX then
    error('TOLLGATEARGUMENT word ' .. at .. ' is no list of keys')
  end
  local after, out_before, told_before = at, out, told
  out, told = {}, 0
  for next = 1, #list, 2 * count do
    for i = 1, count do
      local high, low = byte(list, next + 2 * i - 2, next + 2 * i - 1)
      numbers[i] = high * 256 + low
    end
    at = began
    local status = decide(count, numbers)
    settle_check(count, status)
    tell_check(count, status)
  end
  local told_many = pack_words('>' .. string.rep('i8', told), unpack(out, 1, told))
  at, out, told = after, out_before, told_before
  tell(told_many)
end

local last = #argv
while at < last do
  local op = word()
  if op == 'c' or op == 'p' then
    local count = number()
    local status = decide(count)
    if op == 'c' then
      settle_check(count, status)
    elseif status == 1 then
      for i = 1, count do balances[i] = balances[i] - of_cost[i] end
    end
    tell_check(count, status)
  elseif op == 'm' then
    decide_many()
  elseif op == 'o' then
    -- Once: the record's key, its lifetime in milliseconds.
    local record, milliseconds, count = number(), amount(), number()
    local began = at
    if faults[record] then
      at = began + 4 * count
      tell(9)
      tell(faults[record])
    elseif tell_again(record, count) then
      at = began + 4 * count
    else
      local status = decide(count)
      settle_check(count, status)
      if status == 1 then written[record] = { verdict_line(count), milliseconds } end
      tell_check(count, status)
    end
  elseif op == 'r' then
    -- Reserve: the record's key, the timeout in milliseconds, what the caller wants to read when it settles.
    local record, milliseconds, note, count = number(), amount(), word(), number()
    local began = at
    if faults[record] then
      at = began + 4 * count
      tell(9)
      tell(faults[record])
    elseif tell_again(record, count) then
      at = began + 4 * count
    else
      local status = decide(count)
      settle_check(count, status)
      if status == 1 then
        local paid = {}
        for i = 1, count do
          local k = of_key[i]
          local other = of_limit[i].other
          if other then
            paid[i] = format('%.0f %.0f', other.paid(of_limit[i], k), now)
          else
            paid[i] = format('%.0f %.0f', held[k], stamps[k])
          end
        end
        local value = verdict_line(count) .. '\n' .. table.concat(paid, ' ') .. '\n' .. note
        written[record] = { value, milliseconds }
      end
      tell_check(count, status)
    end
  elseif op == 's' then
    -- Settle: the record's key and what it must hold; of each bucket the key, limit, cost, true cost and deepest debt.
    local record, expected, count = number(), word(), number()
    local value = record_of(record)
    local paid = value and value == expected and string.match(value, '^[^\n]*\n([-%d ]+)\n')
    if not paid then
      at = at + 5 * count
      tell(faults[record] and 9 or 4)
      if faults[record] then tell(faults[record]) end
    else
      local found, fault = {}, nil
      for digits in string.gmatch(paid, '%-?%d+') do found[#found + 1] = tonumber(digits) end
      local began = at
      for i = 1, count do
        local k = bucket()
        at = began + 5 * i
        fault = fault or faults[k]
      end
      at = began
      if fault or #found ~= 2 * count then
        at = began + 5 * count
        tell(9)
        tell(fault or UNKNOWN_STATE)
      else
        tell(1)
        written[record] = false
        for i = 1, count do
          local k, L, cost, actual, debt = number(), limits[number()], amount(), amount(), amount()
          if actual <= cost or L.k == 'p' then
            local before, after = give_back(L, k, actual < cost and cost - actual or 0, cost, found[2 * i - 1], found[2 * i])
            tell(before)
            tell(after)
          else
            local before, after = take(L, k, actual - cost, debt)
            tell(before)
            tell(after)
          end
        end
      end
    end
  elseif op == 'l' then
    -- Let go: a charge that left the bucket at `paid` (places: taken in that generation) at a time.
    local k, L = bucket()
    local cost, paid, made = amount(), number(), amount()
    if faults[k] then
      tell(9)
      tell(faults[k])
    else
      tell_change(give_back(L, k, cost, cost, paid, made))
    end
  elseif op == 'a' then
    -- Ask: the record's key; the ask; what may be given ahead of time, and how long a slice lives.
    local k, L = bucket()
    local record, seq, unspent, back = number(), amount(), amount(), amount()
    local want, least, ahead, life = amount(), amount(), amount(), amount()
    local fault = faults[k] or faults[record] or (L.k ~= 't' and UNKNOWN_STATE)
    if life < 1 or life > LIFE_MAX then error('TOLLGATEARGUMENT word ' .. at .. ' is no life of a slice') end
    if fault then
      tell(9)
      tell(fault)
    else
      ask(L, k, record, seq, unspent, back, want, least, ahead, life)
    end
  elseif op == 'g' or op == 't' or op == 'x' then
    local k, L = bucket()
    local micros = op ~= 'x' and amount() or 0
    local debt = op == 't' and amount() or 0
    if faults[k] then
      tell(9)
      tell(faults[k])
    elseif op == 'g' then
      tell_change(give(L, k, micros))
    elseif op == 't' then
      tell_change(take(L, k, micros, debt))
    else
      tell_change(reset(L, k))
    end
  else
    error('TOLLGATEARGUMENT word ' .. at .. ' is no operation')
  end
end

-- Writing: each key once --------------------------------------------------------------------------------------------------
local function write_bucket(L, k)
  local b, t, tag, forgiven = held[k], stamps[k], tags[k], resets[k]
  local size = b < 0 and -b or b
  size = size < 2147483648 and 4 or size < 549755813888 and 5 or size < 140737488355328 and 6 or 7
  local milliseconds = lifetime(L, b, t)
  if forgiven and now - forgiven > REMEMBERED then forgiven = nil end
  local value
  local lease = leases[k]
  -- Nobody holds anything any more: a bucket like any other.
  if lease and lease[3] + lease[4] == 0 and not asked[k] then lease = nil end
  if lease then
    local first = (tag and 64 or 0) + (forgiven and 32 or 0)
    value = pack_words(LEASED_FORMAT, LEASED, first, t, b, unpack(lease))
    if tag then value = value .. pack_words('>I2', tag) end
    local kept = floor(2 * lease[5] / 1000) + 1001
    if forgiven then
      value = value .. pack_words('>I7', forgiven)
      local remembered = floor((forgiven + REMEMBERED - now) / 1000) + 1
      if remembered > kept then kept = remembered end
    end
    if kept > milliseconds then milliseconds = kept end
  elseif tag or forgiven then
    local low = fmod(t, 281474976710656)
    local first = 128 + (tag and 64 or 0) + (forgiven and 32 or 0) + (t - low) / 281474976710656
    value = pack_words('>BI6i' .. size, first, low, b)
    if tag then value = value .. pack_words('>I2', tag) end
    if forgiven then
      value = value .. pack_words('>I7', forgiven)
      local kept = floor((forgiven + REMEMBERED - now) / 1000) + 1
      if kept > milliseconds then milliseconds = kept end
    end
  else
    value = pack_words(FORMATS[7 + size], t, b)
  end
  call('SET', keys[k], value, 'PX', format('%.0f', milliseconds))
end
for k, L in pairs(changed) do
  if L.other then L.other.write(L, k) else write_bucket(L, k) end
end
for k, record in pairs(written) do
  if record then
    call('SET', keys[k], record[1], 'PX', format('%.0f', record[2]))
  else
    call('DEL', keys[k])
  end
end
return out
