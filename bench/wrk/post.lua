-- Posts one body again and again, and prints what came of it as the last line of the output: JSON.
-- Each request has its own number in place of @n@ in the body.
-- wrk -s post.lua ... URL -- BODY_FILE [NAME: VALUE ...]

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  wrk.method = 'POST'
  wrk.body = file:read('*a')
  file:close()
  wrk.headers['content-type'] = 'application/json'
  for at = 2, #args do
    local name, value = args[at]:match('^([^:]+): (.*)$')
    wrk.headers[name] = value
  end
  local before, behind = wrk.body:match('^(.-)@n@(.*)$')
  if before then
    local number = 0
    function request()
      number = number + 1
      return wrk.format(nil, nil, nil, before .. number .. behind)
    end
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"calls":%d,"elapsedMs":%.3f,"refused":%d,"unconnected":%d,"interrupted":%d,"late":%d,"p50Ms":%.3f,"p99Ms":%.3f}\n',
    summary.requests, summary.duration / 1000, errors.status, errors.connect, errors.read + errors.write,
    errors.timeout, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
