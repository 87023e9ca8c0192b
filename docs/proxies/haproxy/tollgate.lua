-- Asks Tollgate about a request, through the listener `tollgate` of haproxy.cfg, and answers refusals.
-- Sets txn.tollgate to "admitted" or "away" if the request may pass, and txn.tollgate_policy and txn.tollgate_limit if it is admitted.

local url = "http://127.0.0.1:8079/v1/forward-auth/haproxy"
local timeout_ms = 2000

-- Most header fields of a client's request, and most bytes of its method, target and fields. HAProxy's Lua client crashes near
-- 100 fields, and the check has to fit into one buffer of 16 KiB (tune.bufsize).
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
    -- Every reply of Tollgate has the field tollgate-status. The listener `tollgate` makes a 503 or 504 without it, and with the field
    -- tollgate-away, if Tollgate is unreachable or too slow. Any other reply is an error that a client may have caused: refuse.
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
