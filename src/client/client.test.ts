import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionRoutes } from '../contract/sessions.ts'
import { createClient } from './client.ts'
import { ApiError, InvalidParameter, retryAfterMs, ServiceUnreachable } from './failures.ts'

interface Sent {
  readonly url: string
  readonly init: RequestInit
}

/** A client whose requests are recorded, with `answer` as the response. */
function recorded(answer: () => Response | Promise<Response>, key?: string) {
  const sent: Sent[] = []
  const fetch: typeof globalThis.fetch = async (url, init = {}) => {
    sent.push({ url: String(url), init })
    return answer()
  }
  return { client: createClient({ baseUrl: 'http://service.test/', key, fetch }), sent }
}

const headersOf = (sent: Sent | undefined) => new Headers(sent?.init.headers)

/** Returns the error that `work` rejects with. */
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => assert.fail('resolved'),
    (error: unknown) => error,
  )

test('a call sends the method, path, key and JSON body of its route', async () => {
  const { client, sent } = recorded(() => Response.json({ id: 'agent_1' }, { status: 201 }), 'sk-test')
  const agent = await client.agents.create({ body: { name: 'a', owner_id: 'o' } }, { idempotencyKey: 'once' })
  assert.equal(agent.id, 'agent_1')
  assert.equal(sent[0]?.url, 'http://service.test/api/agents')
  assert.equal(sent[0]?.init.method, 'POST')
  assert.equal(sent[0]?.init.body, '{"name":"a","owner_id":"o"}')
  const headers = headersOf(sent[0])
  assert.equal(headers.get('authorization'), 'Bearer sk-test')
  assert.equal(headers.get('content-type'), 'application/json')
  assert.equal(headers.get('idempotency-key'), 'once')
})

test('without key and body the headers authorization and content-type are absent', async () => {
  const { client, sent } = recorded(() => Response.json({ status: 'ok' }))
  assert.deepEqual(await client.system.health(), { status: 'ok' })
  assert.equal(headersOf(sent[0]).has('authorization'), false)
  assert.equal(headersOf(sent[0]).has('content-type'), false)
})

test('a path parameter cannot leave its segment', async () => {
  const { client, sent } = recorded(() => Response.json({}))
  await client.sessions.get({ params: { session_id: '../keys?a=b#c' } })
  assert.equal(sent[0]?.url, 'http://service.test/session/..%2Fkeys%3Fa%3Db%23c')
  for (const session_id of ['', '.', '..']) {
    await assert.rejects(client.sessions.interrupt({ params: { session_id } }), InvalidParameter)
  }
  assert.equal(sent.length, 1)
})

test('query lists repeat their name, and undefined values are omitted', async () => {
  const { client, sent } = recorded(() => Response.json({ data: [], next_page: null }))
  await client.events.list({
    params: { session_id: 's' },
    query: { limit: 2, 'types[]': ['a b', 'c'], types: undefined },
  })
  assert.equal(sent[0]?.url, 'http://service.test/v1/sessions/s/events?limit=2&types%5B%5D=a+b&types%5B%5D=c')
})

test('a response without a body is undefined', async () => {
  const { client } = recorded(() => new Response(null, { status: 204 }))
  assert.equal(await client.sessions.interrupt({ params: { session_id: 's' } }), undefined)
})

test('a page returns the cursor of its header until the last page', async () => {
  const answers = [Response.json([], { headers: { 'x-next-cursor': 'c1' } }), Response.json([])]
  const { client } = recorded(() => answers.shift() ?? assert.fail())
  assert.deepEqual(await client.page(sessionRoutes.list), { data: [], nextCursor: 'c1' })
  assert.deepEqual(await client.page(sessionRoutes.list, { query: { cursor: 'c1' } }), {
    data: [],
    nextCursor: undefined,
  })
})

const errorResponses = [
  ['the nested shape', { error: { type: 'gateway_error', message: 'no' } }, 'gateway_error'],
  ['the plain shape', { error: 'no' }, undefined],
  [
    "Anthropic's envelope",
    { type: 'error', error: { type: 'not_found_error', message: 'no' }, request_id: 'r1' },
    'not_found_error',
  ],
] as const

for (const [shape, body, type] of errorResponses) {
  test(`an error response in ${shape} gives its message, code and request id`, async () => {
    const init = { status: 404, headers: { 'request-id': 'r1', 'retry-after': '3' } }
    const { client } = recorded(() => Response.json(body, init))
    const error = await failureOf(client.models.list())
    assert.ok(error instanceof ApiError)
    const { message, status, code, requestId } = error
    assert.deepEqual(
      { message, status, code, requestId },
      { message: 'no', status: 404, code: 'not_found', requestId: 'r1' },
    )
    assert.equal(error.type, type)
    assert.equal(error.retryAfterMs, 3000)
  })
}

test("a proxy's error page becomes a message that names the status", async () => {
  const { client } = recorded(() => new Response('<html>', { status: 502, statusText: 'Bad Gateway' }))
  const error = await failureOf(client.models.list())
  assert.ok(error instanceof ApiError)
  assert.equal(error.message, 'service returned 502 Bad Gateway')
})

test('a success that is not JSON is an ApiError with a hint', async () => {
  const { client } = recorded(() => new Response('<html>'))
  await assert.rejects(client.models.list(), {
    name: 'ApiError',
    message: /check that the address is a Switchyard service/,
  })
})

test('a rejected connection, and one that breaks in the body, are ServiceUnreachable', async () => {
  const refused = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) })
  const { client } = recorded(() => Promise.reject(refused))
  const error = await failureOf(client.models.list())
  assert.ok(error instanceof ServiceUnreachable)
  assert.equal(error.message, 'cannot reach http://service.test: connection refused; no service listens there')

  const broken = () =>
    new Response(new ReadableStream({ pull: controller => controller.error(new TypeError('terminated')) }))
  await assert.rejects(recorded(broken).client.models.list(), ServiceUnreachable)
})

test('an abort rejects with its own reason', async () => {
  const { client } = recorded(() => Promise.reject(new TypeError('fetch failed')))
  const reason = new Error('the user left')
  await assert.rejects(client.models.list({}, { signal: AbortSignal.abort(reason) }), reason)
})

test('the compiler requires the required parts of a route', () => {
  const { client } = recorded(() => Response.json({}))
  const neverCalled = () => [
    // @ts-expect-error: the path has a parameter
    client.sessions.get(),
    // @ts-expect-error: name and owner_id are required
    client.agents.create({ body: { name: 'a' } }),
    // @ts-expect-error: no such field in the query
    client.sessions.list({ query: { limits: 3 } }),
    client.sessions.create(),
    client.sessions.list({ query: { status: 'idle' } }),
  ]
  assert.equal(typeof neverCalled, 'function')
})

test('Retry-After is parsed as seconds or as a date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  assert.equal(retryAfterMs('5', now), 5000)
  assert.equal(retryAfterMs('Thu, 01 Jan 2026 00:00:07 GMT', now), 7000)
  assert.equal(retryAfterMs('Wed, 31 Dec 2025 00:00:00 GMT', now), 0)
  assert.equal(retryAfterMs('soon', now), undefined)
  assert.equal(retryAfterMs(null, now), undefined)
})
