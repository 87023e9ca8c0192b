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
local fmod, call, floor = math.fmod, redis.call, math.floor
local format, unpack_words, pack_words = string.format, struct.unpack, struct.pack

if argv[1] ~= '1' then
  return redis.error_reply('TOLLGATEVERSION the script is of version 1, the call of version ' .. tostring(argv[1]))
end
local EXACT = 9007199254740992 -- 2^53
local BURST_MAX = 9000000000000000 -- micro-tokens
local SET_BACK = 1000000 -- a stamp further ahead than this: the clock was set back for good
local REMEMBERED = 604800000000 -- a reset is remembered for a week: the longest that a reservation may be open

local now = argv[2] + 0
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- What the keys hold, read once ---------------------------------------------------------------------------------------------
local WRONG_TYPE, UNKNOWN_STATE, TWICE = 1, 2, 3
local strings = argv[3] + 0
local raw, faults -- by the number of the key
-- A key of another type is the item's affair; any other error is the call's.
local function fault_of(reply)
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply.err) end
  return WRONG_TYPE
end
local function fetch()
  if strings == 1 then
    local value = redis.pcall('GET', keys[1])
    if type(value) == 'table' then
      raw, faults = {}, { fault_of(value) }
    else
      raw = { value }
    end
    return
  elseif strings == 0 then
    raw = {}
    return
  end
  raw = call('MGET', unpack(keys, 1, strings))
  local absent, count = nil, 0
  for k = 1, strings do
    if not raw[k] then
      absent = absent or {}
      count = count + 1
      absent[count] = keys[k]
    end
  end
  -- MGET says nothing of a key of another type, which must not be overwritten.
  if absent and call('EXISTS', unpack(absent)) > 0 then
    faults = {}
    for k = 1, strings do
      if not raw[k] and call('EXISTS', keys[k]) > 0 then faults[k] = WRONG_TYPE end
    end
  end
end
fetch()

-- A limit that can be kept exactly: no product is above 2^53.
local function is_sound(num, den, burst)
  return num >= 1 and den >= 1 and (num + 1) * den < EXACT and burst >= 1 and burst <= BURST_MAX
end

-- The short way, for what nearly every call is: checks of token buckets whose limits did not change lately. The same arithmetic as
-- below, in one place and without a function for every step; whatever is out of the ordinary is left to the long way, from the start.
local function decide_plainly()
  -- Where in the arguments the words of each limit begin; of most calls there is one.
  local count, at, words_at, only = argv[4] + 0, 4, nil, 4
  if count > 1 then words_at = {} end
  for i = 1, count do
    local kind = argv[at + 1]
    if kind ~= 'b' and kind ~= 'e' then return nil end
    if words_at then words_at[i] = at end
    at = at + (kind == 'b' and 8 or 4)
  end
  -- A bucket that was looked at is a number in `held`; its value before, text. `changed` is a list of keys.
  local held, stamps, limit_of, changed, changes = raw, {}, {}, {}, 0
  local out, told, last = { now }, 1, #argv
  local of_key, of_level, of_upto, of_cost, of_words
  local parsed, num, den, burst, from, frac -- the limit that was read last
  while at < last do
    local op, count = argv[at + 1], argv[at + 2] + 0
    if op ~= 'c' and op ~= 'p' then return nil end
    if count > 1 and not of_key then of_key, of_level, of_upto, of_cost, of_words = {}, {}, {}, {}, {} end
    at = at + 2
    local status, status_at = 1, told + 1
    told = status_at
    for i = 1, count do
      local k, words, cost, keep = argv[at + 1] + 0, only, argv[at + 3] + 0, argv[at + 4] + 0
      if words_at then words = words_at[argv[at + 2] + 0] end
      at = at + 4
      if not (cost >= 0 and keep >= 0 and cost + keep < EXACT) or cost % 1 ~= 0 or keep % 1 ~= 0 then return nil end
      if words ~= parsed then
        num, den, burst, from, frac = argv[words + 2] + 0, argv[words + 3] + 0, argv[words + 4] + 0, 0, 0
        if argv[words + 1] == 'b' then from, frac = argv[words + 5] + 0, argv[words + 6] + 0 end
        if not is_sound(num, den, burst) then return nil end
        parsed = words
      end
      local b, t, upto = held[k], stamps[k], now
      if not t then
        -- Not looked at yet, or absent.
        if b then
          local size = #b
          local layout = size == 11 and '>I7i4' or size == 12 and '>I7i5' or size == 13 and '>I7i6' or size == 14 and '>I7i7'
          if not layout then return nil end
          t, b = unpack_words(layout, b)
          if t >= EXACT then return nil end
          held[k], stamps[k] = b, t
        elseif faults and faults[k] then
          return nil
        end
      end
      if not b then
        b = burst
      else
        if t > now then
          if t - now > SET_BACK then return nil end
          upto = t
        else
          local x, y = t - from, now - from
          if x < 0 then x = 0 end
          if y < 0 then y = 0 end
          if den == 1 then
            b = b + (y - x) * num
          else
            local rx, ry = fmod(x, den), fmod(y, den)
            local px, py = rx * num + frac, ry * num + frac
            b = b + (((y - ry) - (x - rx)) / den * num + ((py - fmod(py, den)) / den - (px - fmod(px, den)) / den))
          end
        end
        if b > burst then b = burst end
      end
      local need, wait = cost + keep, 0
      if need > burst then
        status, wait = 2, -1
      elseif b < need then
        if status == 1 then status = 0 end
        -- As in `time_to_mint`.
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
      out[told + 1], out[told + 2], out[told + 3] = b, wait, upto - now
      told = told + 3
      if count > 1 then
        for j = 1, i - 1 do
          if of_key[j] == k then return nil end
        end
        of_key[i], of_level[i], of_upto[i], of_cost[i], of_words[i] = k, b, upto, cost, words
      elseif status == 1 then
        b = b - cost
        out[told - 2] = b
        if op == 'c' then
          held[k], stamps[k] = b, upto
          if not limit_of[k] then
            changes = changes + 1
            changed[changes] = k
          end
          limit_of[k] = words
        end
      end
    end
    out[status_at] = status
    if status == 1 and count > 1 then
      for i = 1, count do
        local k, left = of_key[i], of_level[i] - of_cost[i]
        out[status_at + 3 * i - 2] = left
        if op == 'c' then
          held[k], stamps[k] = left, of_upto[i]
          if not limit_of[k] then
            changes = changes + 1
            changed[changes] = k
          end
          limit_of[k] = of_words[i]
        end
      end
    end
  end
  for i = 1, changes do
    local k = changed[i]
    -- Charged by a check, so not in debt.
    local b, t, words = held[k], stamps[k], limit_of[k]
    local slow = argv[words + 1] == 'b' and words + 6 or words + 1
    local micros = (argv[words + 4] - b) / argv[slow + 1] * argv[slow + 2] + (t - now)
    local layout = b < 2147483648 and '>I7i4' or b < 549755813888 and '>I7i5' or b < 140737488355328 and '>I7i6' or '>I7i7'
    call('SET', keys[k], pack_words(layout, t, b), 'PX', format('%.0f', floor(micros * 1.001 / 1000) + 1001))
  end
  return out
end
local plainly = decide_plainly()
if plainly then return plainly end

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

-- The long way: state ------------------------------------------------------------------------------------------------------
fetch() -- anew: the short way has taken the values apart
faults = faults or {}
local held, stamps, tags, resets = {}, {}, {}, {} -- a bucket taken apart: held[k] is false if it is absent
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
local function read(k)
  local value = raw[k]
  if not value then
    held[k] = false
    return
  end
  local first, layout = string.byte(value, 1), FORMATS[#value]
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

-- The most that can be stored: a full bucket, or an empty queue.
local function cap(L, s)
  if L.k == 'q' then return 0 end
  return s.burst
end

-- What `b` at `t` has become at `upto`, through the limits that the rule had since. `past` is newest first.
local function carry(L, b, t, upto)
  local past, stamp = L.past, t
  local count = #past
  local oldest = past[count].from
  if t < oldest then
    local low, till = L.low, oldest < upto and oldest or upto
    if low and t < till then
      b = b + minted({ num = low[1], den = low[2], from = t, frac = 0 }, t, till)
      local most = L.k == 'q' and 0 or low[3]
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
      b = b + minted(s, t, till)
      local most = cap(L, s)
      if b > most then b = most end
      t = till
    end
  end
  b = b + minted(L, t, upto)
  local most = cap(L, L)
  if b > most then b = most end
  return b
end

-- The most that any bucket can hold now: less than full while a raised burst is being refilled into.
local function capacity(L)
  local most = cap(L, L)
  if L.head and L.k ~= 'q' then
    local grown = L.head + minted(L, L.from, now)
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

-- What a bucket holds, as it would be stored; the moment that counts as now for it; whether its stamp must follow the clock.
local function level_by(L, k)
  local b, t = held[k], stamps[k]
  if not b then return absent(L), now, false end
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
  local most = capacity(L)
  if b > most then b = most end
  return b, upto, RELABELLED
end
local function label(L, k)
  if L.fam then tags[k] = L.tag > 0 and L.tag or nil end
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
end

-- Checks ------------------------------------------------------------------------------------------------------------------
local out, told = { now }, 1
local function tell(a)
  told = told + 1
  out[told] = a
end

local of_key, of_limit, of_cost, of_level, of_upto, of_moved = {}, {}, {}, {}, {}, {}
local balances, waits, thirds = {}, {}, {}

-- Decides over `count` buckets; 0 denied, 1 admitted, 2 never; or a negative fault.
local function decide(count)
  local status, fault = 1, nil
  for i = 1, count do
    local k, L, cost, keep = number(), limits[number()], amount(), amount()
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
          wait = other and other.wait(L, k, need) or wait_for(L, need - balance, upto)
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
      label(of_limit[i], k)
    elseif status == 0 and of_moved[i] == RELABELLED then
      held[k], stamps[k], changed[k] = of_level[i], of_upto[i], of_limit[i]
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
  local full = capacity(L)
  resets[k] = now
  -- Where the limit comes with the call, full by any limit.
  store(L, k, L.k == 'e' and BURST_MAX or full, upto)
  return b + offset(L), full + offset(L)
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
  if tag or forgiven then
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
