-- The short way, for what nearly every call is: checks of token buckets whose limits never changed. The same arithmetic as below, in
-- one place and without a function for every step; whatever is out of the ordinary is left to the long way, from the start.
local function decide_plainly()
  -- Where in the arguments the words of each limit begin; of most calls there is one.
  local count, at, words_at, only = argv[4] + 0, 4, nil, 4
  if count > 1 then words_at = {} end
  for i = 1, count do
    local kind = argv[at + 1]
    if kind ~= 'b' and kind ~= 'e' then return nil end
    if words_at then words_at[i] = at end
    at = at + (kind == 'b' and 5 or 4)
  end
  -- A bucket that was looked at is a number in `held`; its value before, text. `changed` is a list of keys.
  local held, stamps, limit_of, changed, changes = raw, {}, {}, {}, 0
  local out, told, last = { now }, 1, #argv
  local of_key, of_level, of_upto, of_cost, of_words
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
      local num, den, burst, from = argv[words + 2] + 0, argv[words + 3] + 0, argv[words + 4] + 0, 0
      if argv[words + 1] == 'b' then from = argv[words + 5] + 0 end
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
            local px, py = rx * num, ry * num
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
        -- As in `time_to_mint`, with no fraction to begin with.
        local begin = upto > from and upto or from
        local r = fmod(begin - from, den)
        local p = r * num
        local n = (p - fmod(p, den)) / den + need - b
        local rest = fmod(n, num)
        local y = rest * den
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
    local micros = (argv[words + 4] - b) / argv[words + 2] * argv[words + 3] + (t - now)
    local layout = b < 2147483648 and '>I7i4' or b < 549755813888 and '>I7i5' or b < 140737488355328 and '>I7i6' or '>I7i7'
    call('SET', keys[k], pack_words(layout, t, b), 'PX', format('%.0f', floor(micros * 1.001 / 1000) + 1001))
  end
  return out
end
local plainly = decide_plainly()
if plainly then return plainly end
