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
  function counter.third() return 0 end
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
      faults[k] = WRONG_TYPE
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
  function log.third() return 0 end
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
