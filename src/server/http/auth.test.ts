import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { createKeyring } from '../platform/encryption.ts'
import { AppError } from '../platform/errors.ts'
import { createAuthenticate } from './auth.ts'
import { type Caller, masterCaller } from './caller.ts'
import { createCheckKey } from './check-key.ts'
import { createAddressOf } from './client-address.ts'
import { createSignInCookie } from './sign-in-cookie.ts'

const master = 'sk-test-master-key-0123456789'
const ada: Caller = {
  principal: 'ada',
  role: 'user',
  ownerScope: 'ada',
  key: { id: 'key_1', models: [], isLimited: false, isNarrow: false, expires: false },
}

interface Setting {
  readonly findKey?: (presented: string) => Caller | undefined | Promise<Caller | undefined>
  readonly redeemTicket?: (ticket: string, sessionId: string) => Promise<Caller | undefined>
  readonly admits?: () => boolean
  readonly masterKey?: string
}

let nowMs = 0
const cookie = createSignInCookie(createKeyring([Buffer.alloc(32, 7)]), () => nowMs)

const authenticator = ({ masterKey = master, ...given }: Setting) => {
  const { findKey = () => undefined, redeemTicket = async () => undefined, admits = () => true } = given
  return createAuthenticate({
    checkKey: createCheckKey({ masterKey, logins: { admits }, addressOf: createAddressOf([]), findKey }),
    insecureNoAuth: false,
    cookie,
    redeemTicket,
  })
}

const request = (headers: Record<string, string>, url = '/api/agents'): IncomingMessage =>
  ({
    headers,
    rawHeaders: Object.entries(headers).flat(),
    url,
    socket: { remoteAddress: '192.0.2.1' },
  }) as unknown as IncomingMessage

const bearer = (key: string) => request({ authorization: `Bearer ${key}` })
const stream = (query: string) => request({}, `/v1/sessions/ses_1/events/stream?${query}`)
const codeOf = (work: () => unknown): Promise<string> =>
  Promise.resolve()
    .then(work)
    .then(
      () => 'let in',
      (error: unknown) => (error instanceof AppError ? error.code : String(error)),
    )

test('the master key needs no lookup; any other key is looked up as it was presented', async () => {
  const asked: string[] = []
  const findKey = (presented: string) => {
    asked.push(presented)
    return presented === 'right' ? ada : undefined
  }
  const authenticate = authenticator({ findKey })
  assert.equal(authenticate(bearer(master), 'key'), masterCaller)
  assert.equal(authenticate(bearer('right'), 'key'), ada)
  assert.equal(authenticate(request({ 'x-api-key': 'right' }), 'key'), ada)
  assert.equal(await codeOf(() => authenticate(bearer('wrong'), 'key')), 'unauthorized')
  assert.equal(await codeOf(() => authenticate(request({}), 'key')), 'unauthorized')
  assert.deepEqual(asked, ['right', 'right', 'wrong'])
})

test('a key that is looked up in the database is accepted or rejected after the lookup', async () => {
  const authenticate = authenticator({ findKey: async presented => (presented === 'right' ? ada : undefined) })
  assert.equal(await authenticate(bearer('right'), 'key'), ada)
  assert.equal(await codeOf(() => authenticate(bearer('wrong'), 'key')), 'unauthorized')
})

test('a failed lookup is 503 and does not count as a failed login; the master key still works', async () => {
  let failures = 0
  const findKey = () => Promise.reject(new AppError('unavailable', 'the database does not answer'))
  const authenticate = authenticator({ findKey, admits: () => ++failures > 0 })
  assert.equal(await codeOf(() => authenticate(bearer('right'), 'key')), 'unavailable')
  assert.equal(authenticate(bearer(master), 'key'), masterCaller)
  assert.equal(failures, 0)
})

test('S53: wrong keys above the limit of their address are 429, and a valid key still works', async () => {
  const findKey = async (presented: string) => (presented === 'right' ? ada : undefined)
  const authenticate = authenticator({ findKey, admits: () => false })
  assert.equal(await codeOf(() => authenticate(bearer('wrong'), 'key')), 'rate_limited')
  assert.equal(await authenticate(bearer('right'), 'key'), ada)
  assert.equal(authenticate(bearer(master), 'key'), masterCaller)
})

test('?key= and ?ticket= are read only on routes that allow them, and a header overrides both', async () => {
  const redeemTicket = async (ticket: string, id: string) => (ticket === 't' && id === 'ses_1' ? ada : undefined)
  const authenticate = authenticator({ findKey: key => (key === 'right' ? ada : undefined), redeemTicket })
  assert.equal(authenticate(stream('key=right'), 'key-or-query'), ada)
  assert.equal(await authenticate(stream('ticket=t'), 'key-or-query'), ada)
  assert.equal(await codeOf(() => authenticate(stream('ticket=other'), 'key-or-query')), 'unauthorized')
  assert.equal(await codeOf(() => authenticate(stream('key=wrong&ticket=t'), 'key-or-query')), 'unauthorized')
  assert.equal(await codeOf(() => authenticate(stream('key=right'), 'key')), 'unauthorized')
  const both = request({ 'x-api-key': 'wrong' }, stream('key=right').url)
  assert.equal(await codeOf(() => authenticate(both, 'key-or-query')), 'unauthorized')
})

test('Google’s key header and ?key= are read on routes that allow them', async () => {
  const authenticate = authenticator({ findKey: key => (key === 'right' ? ada : undefined) })
  const google = (key: string, url?: string) => request({ 'x-goog-api-key': key }, url)
  assert.equal(authenticate(google('right'), 'google-key'), ada)
  assert.equal(authenticate(request({}, '/v1beta/models?alt=sse&key=right'), 'google-key'), ada)
  assert.equal(authenticate(bearer('right'), 'google-key'), ada)
  const wrong: [IncomingMessage, Parameters<typeof authenticate>[1]][] = [
    [google('wrong', '/v1beta/models?key=right'), 'google-key'],
    [request({ 'x-api-key': 'wrong', 'x-goog-api-key': 'right' }), 'google-key'],
    [request({}, '/v1beta/models?ticket=t'), 'google-key'],
    [google('right'), 'key'],
    [google('right', stream('ticket=').url), 'key-or-query'],
  ]
  for (const [presented, access] of wrong)
    assert.equal(await codeOf(() => authenticate(presented, access)), 'unauthorized')
})

const basic = (userAndPassword: string, scheme = 'Basic') =>
  `${scheme} ${Buffer.from(userAndPassword).toString('base64')}`

test('the password of Basic authentication is the key, with any user name', async () => {
  const held = 'sk-with:colon'
  const authenticate = authenticator({ findKey: key => (key === held ? ada : undefined) })
  const show = (authorization: string) => request({ authorization })
  assert.equal(authenticate(show(basic(`opencode:${master}`)), 'key'), masterCaller)
  assert.equal(authenticate(show(basic(`:${master}`, 'bASIC')), 'admin'), masterCaller)
  assert.equal(authenticate(show(basic(`ana:${held}`)), 'google-key'), ada)
  assert.equal(authenticate(request({ authorization: basic(`x:${held}`) }, stream('').url), 'key-or-query'), ada)
  const refused = ['opencode:', 'opencode:wrong', master, `${master}:`, `${master}:opencode`, `opencode:${master} `]
  const headers = [...refused.map(text => basic(text)), 'Basic', 'Basic ', 'Basic %%%', `Basic opencode:${master}`]
  for (const header of headers) assert.equal(await codeOf(() => authenticate(show(header), 'key')), 'unauthorized')
})

test('Basic authentication is read last: any other key in the request overrides it, valid or not', async () => {
  const redeemTicket = async (ticket: string) => (ticket === 't' ? ada : undefined)
  const authenticate = authenticator({ findKey: key => (key === 'right' ? ada : undefined), redeemTicket })
  const authorization = basic(`opencode:${master}`)
  type Access = Parameters<typeof authenticate>[1]
  const beside = (key: string): [IncomingMessage, Access][] => [
    [request({ authorization, 'x-api-key': key }), 'key'],
    [request({ authorization, 'x-goog-api-key': key }), 'google-key'],
    [request({ authorization }, `/v1beta/models?key=${key}`), 'google-key'],
    [request({ authorization }, stream(`key=${key}`).url), 'key-or-query'],
    [request({ authorization }, stream(`ticket=${key === 'right' ? 't' : 'other'}`).url), 'key-or-query'],
  ]
  for (const given of beside('right')) assert.equal(await authenticate(...given), ada)
  for (const given of beside('wrong')) assert.equal(await codeOf(() => authenticate(...given)), 'unauthorized')
  const twice = request({ authorization })
  twice.rawHeaders.push('Authorization', authorization)
  assert.equal(await codeOf(() => authenticate(twice, 'key')), 'unauthorized')
  // A header or parameter that the route does not read is ignored.
  assert.equal(authenticate(request({ authorization, 'x-goog-api-key': 'wrong' }), 'key'), masterCaller)
})

const samples = 20_000

/**
 * Welch's t of the times of two kinds of requests, taken in turn, each as often first as second; the slowest twentieth,
 * mostly collections, left out.
 */
function welch(one: () => void, other: () => void): number {
  const times = [new Float64Array(samples), new Float64Array(samples)] as const
  for (let at = 0; at < samples; at++) {
    const pair = [[0, one] as const, [1, other] as const]
    for (const [kind, work] of at % 2 === 0 ? pair : pair.toReversed()) {
      const startedMs = performance.now()
      work()
      times[kind][at] = performance.now() - startedMs
    }
  }
  const limit = Float64Array.from([...times[0], ...times[1]]).sort()[Math.floor(2 * samples * 0.95)] ?? 0
  const facts = times.map(all => {
    const kept = all.filter(time => time <= limit)
    const mean = kept.reduce((sum, time) => sum + time, 0) / kept.length
    const variance = kept.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (kept.length - 1)
    return { mean, error: variance / kept.length }
  })
  const [a, b] = facts
  return a && b ? Math.abs(a.mean - b.mean) / Math.sqrt(a.error + b.error) : Number.POSITIVE_INFINITY
}

test('S02: the time to reject a wrong key does not depend on how many characters match', () => {
  // A long key, so that a comparison that stops at the first difference would be measurable.
  const masterKey = 'm'.repeat(4_000)
  const authenticate = authenticator({ masterKey })
  const refused = (key: string) => {
    const presented = bearer(key)
    return () => {
      try {
        void authenticate(presented, 'key')
      } catch {
        // The rejection is measured.
      }
    }
  }
  // A busy machine can distort one round, and so can where its strings lie in memory; an early stop shows in every round.
  const rounds: number[] = []
  while (rounds.length < 8 && !rounds.some(t => t < 4.5)) {
    const nearly = refused(['m'.repeat(3_999), 'x'].join(''))
    const notAtAll = refused(['x'.repeat(3_999), 'x'].join(''))
    rounds.push(welch(nearly, notAtAll))
  }
  assert.ok(
    rounds.some(t => t < 4.5),
    `t = ${rounds.map(t => t.toFixed(1)).join(', ')}`,
  )
})

test('M7: Basic authentication, which browsers repeat, is rejected for pages of another origin', async () => {
  const authenticate = authenticator({ findKey: key => (key === 'right' ? ada : undefined) })
  const from = (site: string, headers: Record<string, string>) => request({ ...headers, 'sec-fetch-site': site })
  const authorization = basic('opencode:right')
  for (const site of ['cross-site', 'same-site', 'unknown']) {
    assert.equal(await codeOf(() => authenticate(from(site, { authorization }), 'key')), 'forbidden')
    assert.equal(authenticate(from(site, { 'x-api-key': 'right' }), 'key'), ada)
  }
  for (const site of ['same-origin', 'none']) assert.equal(authenticate(from(site, { authorization }), 'key'), ada)
})

test('the cookie of the console stands for its key until it expires, on requests of own pages only', async () => {
  const authenticate = authenticator({ findKey: key => (key === 'right' ? ada : undefined) })
  const [value = ''] = cookie.set('right').split(';')
  const [revoked = ''] = cookie.set('revoked').split(';')
  const sent = (headers: Record<string, string>, method = 'GET') =>
    codeOf(() =>
      authenticate({ ...request({ cookie: `a=b; ${value}`, ...headers }), method } as IncomingMessage, 'key'),
    )
  const own = { 'sec-fetch-site': 'same-origin', host: 'Switch.example', origin: 'https://switch.example' }
  const meant = { ...own, 'x-switchyard-console': '1' }

  assert.match(cookie.set('right'), /; Path=\/; Secure; HttpOnly; SameSite=Strict$/)
  assert.doesNotMatch(value, /right/)
  assert.equal(await sent(own), 'let in')
  assert.equal(await sent({ 'sec-fetch-site': 'cross-site' }), 'forbidden')
  assert.equal(await sent({ 'sec-fetch-site': 'same-site' }), 'forbidden')
  assert.equal(await sent({ cookie: revoked }), 'unauthorized')
  assert.equal(await sent({ cookie: `${value.slice(0, -2)}xx` }), 'unauthorized')
  assert.equal(await sent({ cookie: `__Host-switchyard=${'a'.repeat(5_000)}` }), 'unauthorized')
  assert.equal(await sent({ cookie: '__Host-switchyard=' }), 'unauthorized')
  assert.equal(await sent({ authorization: 'Bearer wrong' }), 'unauthorized', 'a key wins over the cookie')

  assert.equal(await sent(own, 'POST'), 'forbidden')
  assert.equal(await sent(meant, 'POST'), 'let in')
  assert.equal(await sent({ ...meant, origin: 'https://evil.example' }, 'DELETE'), 'forbidden')
  assert.equal(await sent({ ...meant, origin: 'null' }, 'POST'), 'forbidden')

  nowMs = 7 * 24 * 3_600_000
  assert.equal(await sent(own), 'unauthorized')
  nowMs = 0
})
