-- Asks Tollgate about a request, by way of the listener `tollgate` of haproxy.cfg, and answers refusals.
-- Sets txn.tollgate_policy and txn.tollgate_limit if it is admitted, txn.tollgate_away if nobody decided.

local url = "http://127.0.0.1:8079/v1/forward-auth/haproxy"
local timeout_ms = 500

-- Of the client's fields these belong to the connection, not to the question.
local not_asked = { "connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade" }
-- Of Tollgate's fields these belong to its answer, not to ours.
local not_told = { ["connection"] = true, ["content-length"] = true, ["date"] = true, ["tollgate-status"] = true }

local function only(values)
    return values and values[0]
end

core.register_action("tollgate", { "http-req" }, function(txn)
    local fields = txn.http:req_get_headers()
    local host = only(fields["host"]) or ""
    for _, name in ipairs(not_asked) do
        fields[name] = nil
    end
    -- Every field that Tollgate believes is set here, so that a client's own fields of these names are gone.
    fields["x-forwarded-method"] = { [0] = txn.f:method() }
    fields["x-forwarded-uri"] = { [0] = txn.f:pathq() }
    fields["x-forwarded-host"] = { [0] = host }
    fields["x-forwarded-for"] = { [0] = txn.f:src() }

    local answer = core.httpclient():get({ url = url, headers = fields, timeout = timeout_ms })
    if answer.status == 200 then
        txn:set_var("txn.tollgate_policy", only(answer.headers["ratelimit-policy"]))
        txn:set_var("txn.tollgate_limit", only(answer.headers["ratelimit"]))
        return
    end
    -- HAProxy makes up a 503 or 504 where there is no answer; Tollgate's own have this field.
    if not (answer.headers and answer.headers["tollgate-status"]) then
        txn:set_var("txn.tollgate_away", true)
        return
    end
    local reply = txn:reply()
    reply:set_status(answer.status)
    for name, values in pairs(answer.headers) do
        if not not_told[name] then
            for _, value in pairs(values) do
                reply:add_header(name, value)
            end
        end
    end
    reply:set_body(answer.body)
    txn:done(reply)
end)
