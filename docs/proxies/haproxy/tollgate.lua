-- Checks a request with Tollgate through the listener `tollgate` of haproxy.cfg, and sends refusals to the client.
-- Sets txn.tollgate to "admitted", or to "away" if Tollgate is unreachable or too slow. Sets txn.tollgate_policy and
-- txn.tollgate_limit if the request is admitted.

local url = "http://127.0.0.1:8079/v1/forward-auth/haproxy"
local timeout_ms = 2000

-- Maximum number of header fields, and maximum bytes of method, target and fields. HAProxy's Lua client crashes near 100
-- fields, and the check has to fit into one buffer of 16 KiB (tune.bufsize).
local fields_max = 80
local bytes_max = 12 * 1024

-- These fields of the client belong to its connection and are not sent to Tollgate.
local not_asked = { "connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade" }
-- These fields of Tollgate's reply are not sent to the client.
local not_told = { ["connection"] = true, ["content-length"] = true, ["date"] = true, ["tollgate-status"] = true }

local function only(values)
    return values and values[0]
end

-- Counts header fields and their bytes as HTTP/1.1 writes them.
local function size(fields)
    local count, bytes = 0, 0
    for name, values in pairs(fields) do
        for _, value in pairs(values) do
            count, bytes = count + 1, bytes + #name + #value + 4
        end
    end
    return count, bytes
end

local function refuse(txn, status, title, retry_after)
    local reply = txn:reply()
    reply:set_status(status, title)
    reply:add_header("content-type", "application/problem+json")
    reply:add_header("cache-control", "no-store")
    if retry_after then
        reply:add_header("retry-after", retry_after)
    end
    reply:set_body('{"type":"about:blank","title":"' .. title .. '","status":' .. status .. "}")
    txn:done(reply)
end

core.register_action("tollgate", { "http-req" }, function(txn)
    local fields = txn.http:req_get_headers()
    local host, method, target = only(fields["host"]) or "", txn.f:method(), txn.f:pathq() or ""
    local count, bytes = size(fields)
    if count > fields_max or bytes + #method + #target > bytes_max then
        return refuse(txn, 431, "Request Header Fields Too Large")
    end
    for _, name in ipairs(not_asked) do
        fields[name] = nil
    end
    -- Every field that Tollgate trusts is set here; fields of these names from the client are replaced.
    fields["x-forwarded-method"] = { [0] = method }
    fields["x-forwarded-uri"] = { [0] = target }
    fields["x-forwarded-host"] = { [0] = host }
    fields["x-forwarded-for"] = { [0] = txn.f:src() }

    local answer = core.httpclient():get({ url = url, headers = fields, timeout = timeout_ms })
    -- Replies of Tollgate have the field tollgate-status. If Tollgate is unreachable or too slow, the listener `tollgate`
    -- replies 503 or 504 with tollgate-away instead. Refuse every other reply: a client may have caused it.
    local headers = answer.headers or {}
    if not headers["tollgate-status"] then
        if headers["tollgate-away"] and (answer.status == 503 or answer.status == 504) then
            txn:set_var("txn.tollgate", "away")
            return
        end
        return refuse(txn, 503, "Service Unavailable", "1")
    end
    if answer.status == 200 then
        txn:set_var("txn.tollgate", "admitted")
        txn:set_var("txn.tollgate_policy", only(headers["ratelimit-policy"]))
        txn:set_var("txn.tollgate_limit", only(headers["ratelimit"]))
        return
    end
    local reply = txn:reply()
    reply:set_status(answer.status)
    for name, values in pairs(headers) do
        if not not_told[name] then
            for _, value in pairs(values) do
                reply:add_header(name, value)
            end
        end
    end
    reply:set_body(answer.body)
    txn:done(reply)
end)
