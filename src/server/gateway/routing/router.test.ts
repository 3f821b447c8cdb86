import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import type { Answer } from '../../../../test/support/upstream/scripted-answer.ts'
import { type Script, startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'
import type { Deployment } from '../../config/deployments.ts'
import { pause } from '../../platform/timers.ts'

const ask = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
const error = (status: number, headers: Record<string, string> = {}, message = 'no'): Answer => ({
  status,
  headers,
  body: JSON.stringify({ type: 'error', error: { type: 'api_error', message } }),
})

type Place = Partial<Deployment> & { readonly script: Script }
type AppOptions = NonNullable<Parameters<typeof startGatewayApp>[0]>

/** A gateway in front of one upstream a place; waits take no time but are noted. Everything ends with the file. */
async function network(places: readonly Place[], options: AppOptions = {}) {
  const waits: number[] = []
  const upstreams = await Promise.all(places.map(({ script }) => startScriptedUpstream({ script })))
  const counts = new Map<string, number>()
  const deployments = places.map(({ script, alias = 'm', ...changes }, at) => {
    const number = (counts.get(alias) ?? 0) + 1
    counts.set(alias, number)
    return deploymentAt(upstreams[at]?.url ?? '', { id: `${alias}.${number}`, alias, upstreamModel: alias, ...changes })
  })
  const app = await startGatewayApp({
    deployments,
    random: () => 0,
    wait: async ms => void waits.push(ms),
    ...options,
  })
  after(async () => {
    await app.stop()
    await Promise.all(upstreams.map(upstream => upstream.stop()))
  })
  const seen = () => upstreams.map(({ requests }) => requests.length)
  return { ...app, upstreams, waits, seen }
}

const summaryOf = (answer: Response) => [
  answer.status,
  answer.headers.get('x-switchyard-deployment'),
  answer.headers.get('x-switchyard-attempts'),
]

for (const status of [400, 402, 404, 413, 422]) {
  test(`F14: a ${status} reaches the client unchanged, after one call`, async () => {
    const { post, seen } = await network([{ script: [error(status)] }, { script: [{}] }])
    const answer = await post(ask)
    assert.deepEqual(
      [summaryOf(answer), seen()],
      [
        [status, 'm.1', '1'],
        [1, 0],
      ],
    )
    assert.equal(answer.headers.get('x-switchyard-error-source'), 'upstream')
    assert.equal(await answer.text(), error(status).body)
  })
}

for (const status of [408, 409, 429, 500, 502, 503, 504, 529]) {
  test(`F14: a ${status} is retried twice at the only deployment, with waits in between`, async () => {
    const { post, seen, waits, booked, bookedCalls } = await network([{ script: [error(status)] }], {
      random: () => 0.5,
    })
    const answer = await post(ask)
    assert.deepEqual([summaryOf(answer), seen()], [[status, 'm.1', '3'], [3]])
    assert.deepEqual(waits, [250, 500])
    assert.equal(await answer.text(), error(status).body)
    await bookedCalls(1)
    assert.deepEqual([booked.length, booked[0]?.attempts, booked[0]?.status], [1, 3, status])
  })
}

test('the router tries another deployment of the group without a wait', async () => {
  const { post, waits, seen } = await network([{ script: [error(500)] }, { script: [{ text: 'second' }] }])
  const answer = await post(ask)
  assert.deepEqual([summaryOf(answer), waits, seen()], [[200, 'm.2', '2'], [], [1, 1]])
})

test('the router retries a broken connection elsewhere, invisible to a streaming client', async () => {
  const { post } = await network([{ script: [{ resetAfterBytes: 0 }] }, { script: [{ text: 'second' }] }])
  const answer = await post({ ...ask, stream: true })
  assert.deepEqual(summaryOf(answer), [200, 'm.2', '2'])
  assert.match(await answer.text(), /second/)
})

for (const status of [401, 403]) {
  test(`F14: a ${status} starts a cooldown and moves the call to the next deployment; the client gets the last one’s error`, async () => {
    const { post, seen, waits } = await network([
      { script: [error(status)] },
      { script: [error(status)] },
      { script: [error(status)] },
      { script: [error(status), {}] },
    ])
    const answer = await post(ask)
    assert.deepEqual([summaryOf(answer), seen(), waits], [[status, 'm.4', '4'], [1, 1, 1, 1], []])
    const next = await post(ask)
    assert.deepEqual([next.status, seen()], [529, [1, 1, 1, 1]])
  })
}

test('a retry at the same deployment waits for Retry-After plus jitter', async () => {
  const script = [error(503, { 'retry-after': '2' }), error(503, { 'retry-after-ms': '1500' }), {}]
  const { post, waits } = await network([{ script }], { random: () => 0.5 })
  assert.equal((await post(ask)).status, 200)
  assert.deepEqual(
    waits.map(ms => Math.round(ms / 10) * 10),
    [2_250, 2_000],
  )
})

test('a prompt that the upstream’s moderation rejects starts no cooldown', async () => {
  const flagged = {
    script: [error(403, {}, 'This model requires moderation. Your input was flagged'), { text: 'fine' }],
  }
  const { post, seen } = await network([flagged, flagged])
  const answer = await post(ask)
  assert.deepEqual(
    [summaryOf(answer), seen()],
    [
      [403, 'm.1', '1'],
      [1, 0],
    ],
  )
  assert.deepEqual(summaryOf(await post(ask)), [200, 'm.1', '1'])
})

const limitedFor2s = { script: [error(429, { 'retry-after': '2' }), { text: 'back' }] }

test('a call that all deployments rejected for a moment waits for the first one to come back', async () => {
  let now = 0
  const { post, seen } = await network([limitedFor2s, limitedFor2s], {
    nowMs: () => now,
    wait: async ms => {
      now += ms
    },
  })
  assert.deepEqual(summaryOf(await post(ask)), [200, 'm.1', '3'])
  assert.deepEqual([now, seen()], [2_000, [2, 1]])
})

test('calls that waited for the same cooldown are all served, although only one of them is the probe', async () => {
  const { post, upstreams } = await network([limitedFor2s, limitedFor2s], {
    random: Math.random,
    wait: (ms, signal) => pause(ms / 10, signal),
    nowMs: () => performance.now() * 10,
  })
  for (const upstream of upstreams) upstream.hold()
  const calls = [1, 2, 3, 4].map(() => post(ask))
  await Promise.all(upstreams.map(upstream => upstream.received(1)))
  for (const upstream of upstreams) upstream.release()
  assert.deepEqual(
    (await Promise.all(calls)).map(({ status }) => status),
    [200, 200, 200, 200],
  )
})

test('a fallback is used at once when all deployments are cooling down', async () => {
  const { post, waits } = await network([limitedFor2s, limitedFor2s, { alias: 'spare', script: [{}] }], {
    router: { fallbacks: { m: ['spare'] } },
  })
  assert.deepEqual(summaryOf(await post(ask)), [200, 'spare.1', '3'])
  assert.deepEqual(waits, [])
})

test('E3: the router does not wait longer than 10 s: the client gets the upstream’s error with its retry-after', async () => {
  const { post, waits, seen } = await network([{ script: [error(429, { 'retry-after': '30' })] }])
  const answer = await post(ask)
  assert.deepEqual([summaryOf(answer), waits, seen()], [[429, 'm.1', '1'], [], [1]])
  assert.equal(answer.headers.get('retry-after'), '30')
})

test('when all deployments are cooling down, the gateway answers 529 with retry-after and calls no upstream', async () => {
  const limited = { script: [error(429, { 'retry-after': '20' })] }
  const { post, seen } = await network([limited, limited])
  await post(ask)
  const answer = await post(ask)
  const body = (await answer.json()) as { error: { type: string; message: string } }
  assert.deepEqual([answer.status, body.error.type], [529, 'overloaded_error'])
  assert.match(body.error.message, /all deployments of m are cooling down; retry after \d+ s/)
  assert.equal(answer.headers.get('retry-after'), '20')
  assert.equal(answer.headers.get('x-switchyard-error-source'), 'gateway')
  assert.deepEqual(seen(), [1, 1])
})

test('the only deployment of a group never cools down', async () => {
  const { post, seen, url } = await network([{ script: [error(500)] }])
  for (let n = 0; n < 3; n++) await post(ask)
  assert.deepEqual(seen(), [9])
  const { deployments } = (await (await fetch(`${url}/v1/models/m`)).json()) as { deployments: unknown }
  assert.deepEqual(deployments, [
    { id: 'm.1', state: 'healthy', cooling_until: null, last_error: 'http_500', calls: 0 },
  ])
})

test('invalid requests of clients start no cooldown', async () => {
  const { post, seen } = await network([{ script: [error(400)] }, { script: [{}], weight: 0 }])
  for (let n = 0; n < 5; n++) assert.equal((await post(ask)).status, 400)
  assert.deepEqual(seen(), [5, 0])
})

test('after its cooldown a deployment gets one probe; until it ends the other calls go elsewhere', async () => {
  let now = 0
  const { post, upstreams, seen } = await network(
    [{ script: [error(429, { 'retry-after': '10' }), { text: 'back' }] }, { script: [{ text: 'other' }] }],
    { nowMs: () => now },
  )
  await post(ask)
  now += 10_000
  upstreams[0]?.hold()
  const probe = post(ask)
  await upstreams[0]?.received(2)
  assert.deepEqual(summaryOf(await post(ask)), [200, 'm.2', '1'])
  upstreams[0]?.release()
  assert.deepEqual(summaryOf(await probe), [200, 'm.1', '1'])
  assert.deepEqual(summaryOf(await post(ask)), [200, 'm.1', '1'])
  assert.deepEqual(seen(), [3, 2])
})

test('when retries are used up the fallback answers, is named in the headers and is booked under the requested model', async () => {
  const { post, seen, booked, bookedCalls, upstreams } = await network(
    [{ script: [error(503)] }, { alias: 'spare', upstreamModel: 'spare-model', script: [{ text: 'from spare' }] }],
    { router: { fallbacks: { m: ['spare'] } } },
  )
  const answer = await post(ask)
  assert.deepEqual(
    [summaryOf(answer), seen()],
    [
      [200, 'spare.1', '4'],
      [3, 1],
    ],
  )
  assert.equal(upstreams[1]?.requests[0]?.body['model'], 'spare-model')
  await bookedCalls(1)
  const [row] = booked
  assert.deepEqual(
    [booked.length, row?.alias, row?.deployment, row?.upstream_model, row?.attempts],
    [1, 'm', 'spare.1', 'spare-model', 4],
  )
})

const tooLong = error(400, {}, 'prompt is too long: 208310 tokens > 200000 maximum')

test('a prompt that is too long goes only to the fallback for the context window', async () => {
  const places = [
    { script: [tooLong] },
    { alias: 'wide', script: [{ text: 'fits' }] },
    { alias: 'spare', script: [{}] },
  ]
  const { post, seen } = await network(places, {
    router: { fallbacks: { m: ['spare'] }, contextWindowFallbacks: { m: ['wide'] } },
  })
  assert.deepEqual(
    [summaryOf(await post(ask)), seen()],
    [
      [200, 'wide.1', '2'],
      [1, 1, 0],
    ],
  )
})

test('a prompt that is too long for all models gets the upstream’s error', async () => {
  const { post, seen } = await network([{ script: [tooLong] }, { alias: 'spare', script: [{}] }], {
    router: { fallbacks: { m: ['spare'] } },
  })
  const answer = await post(ask)
  assert.deepEqual([answer.status, await answer.text(), seen()], [400, tooLong.body, [1, 0]])
})

test('the caller’s fallbacks are used; unknown ones are skipped, and the header is not forwarded', async () => {
  const { post, upstreams } = await network([{ script: [error(500)] }, { alias: 'spare', script: [{ text: 'x' }] }])
  const answer = await post(ask, { headers: { 'x-switchyard-fallbacks': 'nope, spare' } })
  assert.deepEqual(summaryOf(answer), [200, 'spare.1', '4'])
  assert.equal(upstreams[0]?.requests[0]?.headers['x-switchyard-fallbacks'], undefined)
})

test('when every fallback fails the client gets the last error', async () => {
  const { post, seen } = await network(
    [{ script: [error(500)] }, { alias: 'spare', script: [error(503, {}, 'last')] }],
    {
      router: { fallbacks: { m: ['spare'], spare: ['m'] } },
    },
  )
  const answer = await post(ask)
  assert.deepEqual(
    [summaryOf(answer), seen()],
    [
      [503, 'spare.1', '6'],
      [3, 3],
    ],
  )
  assert.match(await answer.text(), /last/)
})

test('calls of one session go to one deployment; other calls are spread', async () => {
  const places = [1, 2, 3, 4].map(() => ({ script: [{}] }))
  const { post, seen } = await network(places, { random: Math.random })
  for (let n = 0; n < 8; n++) await post(ask, { headers: { 'x-claude-code-session-id': 'session-1' } })
  assert.deepEqual(
    seen().sort((a, b) => a - b),
    [0, 0, 0, 8],
  )
  for (let n = 0; n < 40; n++) await post(ask)
  assert.ok(seen().filter(calls => calls > 0).length > 1)
})

test('sticky: false spreads the calls of a session too', async () => {
  const draws = [0, 0.5]
  const { post, seen } = await network([{ script: [{}] }, { script: [{}] }], {
    random: () => draws.shift() ?? 0,
    router: { sticky: false },
  })
  for (let n = 0; n < 2; n++) await post(ask, { headers: { 'x-claude-code-session-id': 'session-1' } })
  assert.deepEqual(seen(), [1, 1])
})

test('a deployment at its limit of calls per minute is skipped while another is below its limit', async () => {
  const { post, seen } = await network([{ script: [{}], rpm: 2 }, { script: [{}] }])
  for (let n = 0; n < 5; n++) await post(ask)
  assert.deepEqual(seen(), [2, 3])
})

test('a deployment at its limit of concurrent calls is skipped', async () => {
  const { post, upstreams } = await network([{ script: [{}], maxParallel: 1 }, { script: [{}] }])
  upstreams[0]?.hold()
  const first = post(ask)
  await upstreams[0]?.received(1)
  assert.deepEqual(summaryOf(await post(ask)), [200, 'm.2', '1'])
  upstreams[0]?.release()
  assert.equal((await first).status, 200)
})

test('E9: a client that disconnects ends the wait between two attempts at once, and the call is booked as aborted', async () => {
  const { post, booked, bookedCalls, seen } = await network([{ script: [error(503, { 'retry-after': '9' })] }], {
    // Nothing but the caller's leave ends it.
    wait: (_ms, signal) => pause(24 * 3_600_000, signal),
  })
  const gone = new AbortController()
  const call = post(ask, { signal: gone.signal }).catch(() => undefined)
  while ((seen()[0] ?? 0) === 0) await new Promise(setImmediate)
  setTimeout(() => gone.abort(), 50)
  await call
  await bookedCalls(1)
  assert.deepEqual([booked[0]?.outcome, booked[0]?.attempts, seen()], ['aborted', 1, [1]])
})

test('count_tokens is retried too, is estimated where no upstream counts, and is not booked', async () => {
  const upstream = await startScriptedUpstream({ countTokens: 'absent' })
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url, { alias: 'm' })] })
  after(async () => {
    await app.stop()
    await upstream.stop()
  })
  const answer = await app.post({ ...ask, max_tokens: undefined }, { path: '/v1/messages/count_tokens' })
  assert.deepEqual([answer.status, answer.headers.get('x-switchyard-estimated')], [200, 'input_tokens'])
  assert.deepEqual([answer.headers.get('x-switchyard-attempts'), app.booked.length], ['1', 0])
})

test('processes share the cooldowns of deployments', async () => {
  const listeners = new Map<string, (payload: string) => void>()
  const sent: string[] = []
  const hints = {
    on: (channel: string, listener: (payload: string) => void) => void listeners.set(channel, listener),
    send: (_channel: string, payload: string) => void sent.push(payload),
  }
  const { post, seen } = await network([{ script: [error(429, { 'retry-after': '7' })] }, { script: [{}] }], { hints })
  listeners.get('switchyard_cooldown')?.(JSON.stringify(['another', 'm.2', 30_000, 'http_500']))
  const answer = await post(ask)
  assert.deepEqual([answer.status, seen()], [429, [1, 0]])
  assert.deepEqual(
    sent.map(payload => JSON.parse(payload).slice(1)),
    [['m.1', 7_000, 'http_429']],
  )
})
