/** The first page of the reference: what holds for every operation. Markdown. */
export const introduction = `Switchyard routes model calls to any provider and runs agents in durable sessions, behind one API.

## Authentication

Send a key in \`Authorization: Bearer <key>\` or \`x-api-key: <key>\`. The master key (\`GATEWAY_MASTER_KEY\`) may call every
operation. A virtual key (\`POST /api/keys\`) may call what its role, its models and its budgets allow. It reaches only the objects of its owner; for
other objects the response is 404. Event streams also accept \`?key=\`, because browsers cannot set headers there. Gemini's paths also accept
\`x-goog-api-key\`. For a missing or wrong key the response is 401, with the same body on every path:

\`\`\`json
{
  "error": { "type": "gateway_error", "message": "unauthorized" }
}
\`\`\`

Without a master key the service listens on loopback only and requires no key.

## Errors

Each path returns errors in the format that its clients expect; the schema of the operation shows it.

| Format | Paths |
|---|---|
| \`{"error": {"type", "message"}}\` | \`/api\`, \`/session\` |
| \`{"error": "text"}\` | \`/api/v1\` |
| \`{"type": "error", "error": {"type", "message"}, "request_id"}\` | \`/v1/messages\`, \`/v1/models\`, \`/v1/sessions\`, \`/v1/agents\` |
| OpenAI's \`{"error": {"message", "type", "param", "code"}}\` | OpenAI's paths |
| Google's \`{"error": {"code", "message", "status"}}\` | Gemini's paths |

A request that is not valid HTTP, or whose headers exceed 16 KB (431), is rejected before its path is read, with the first format.
Model calls pass errors of a provider on: \`x-switchyard-error-source\` is then \`upstream\`, and the body has the format of the provider, without
credentials. For errors of the service it is \`gateway\`.

| Status | Meaning | What to do |
|---|---|---|
| 400 | a field is invalid; the message names it | correct the request |
| 401 | the key is missing or wrong | send a valid key |
| 402 | a budget is used up, or the call could exceed it | raise the budget, or wait for its reset |
| 403 | the key may not do this | use another key |
| 404 | the object does not exist, or belongs to another owner | check the id |
| 409 | the object is in a state that does not allow this | read the object, then decide |
| 413 | the body is larger than the limit of the operation | send less |
| 422 | an \`Idempotency-Key\` was used with another body | use a new key |
| 429 | a rate limit is reached | wait for \`retry-after\` seconds |
| 502, 504 | the provider is unreachable or timed out | retry |
| 503, 529 | the service or its database is overloaded or unreachable | retry after \`retry-after\` seconds |

Every answer has a \`request-id\`; the log of the service has the cause of a 500 under it. On
\`/session\`, \`/api/agents\`, skills, memories, \`POST /api/keys\`, runtime credentials and the paths of Managed Agents and opencode, unknown top-level
fields have no effect and are listed in the header \`x-switchyard-ignored\`. Model calls list what could not be carried over in
\`x-switchyard-degraded\`. All other operations answer 400 to an unknown field.

## Pages

Lists take \`limit\` and \`cursor\`. The answer has \`next_cursor\`: pass it as \`cursor\` to read the next page; \`null\` marks the
last page. Lists in a vendor's format page as the vendor does.

## Streams

Streams are server-sent events (\`text/event-stream\`). The stream of a session numbers its events: \`id\` is the sequence number.
After a disconnect, send the last id as \`Last-Event-ID\` and no event is missed or repeated. Comment lines keep idle connections open.

## Idempotency

Send \`Idempotency-Key\` (1 to 255 characters) with a \`POST\` that creates or imports an agent, creates or forks a
session, queues a prompt or a compaction, creates or rotates a key or a webhook endpoint, uploads a file, or creates a schedule or an environment. A repetition within 24
hours returns the first answer and acts once; the same key with another body answers 422.
`
