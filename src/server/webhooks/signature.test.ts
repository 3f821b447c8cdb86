import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { WebhookSignature } from '../../contract/webhooks.ts'
import type { Headers } from './headers.ts'
import { claimOf } from './presets.ts'
import { isFresh, isSignedBy } from './signature.ts'

const nowMs = 1_700_000_000_000
const nowS = nowMs / 1_000
const body = Buffer.from('{"a": "ä"}')
const secret = 'a secret of the sender'
const standardSecret = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`
const standardKey = Buffer.from('0123456789abcdef01234567')
const hmac = (text: string, key: string | Buffer = secret, algorithm = 'sha256') =>
  createHmac(algorithm, key).update(text).update(body)

/** Headers that each sender documents; `at` is in seconds. */
interface Scheme {
  readonly setting: WebhookSignature
  readonly secret: string
  readonly sent: (at: number) => Headers
  readonly hasTime: boolean
}
const setting = (preset: 'github' | 'standard-webhooks' | 'slack' | 'stripe'): WebhookSignature => ({
  preset,
  secret_key: 'X',
})
const schemes: Readonly<Record<string, Scheme>> = {
  github: {
    setting: setting('github'),
    secret,
    sent: () => ({ 'x-hub-signature-256': `sha256=${hmac('').digest('hex')}` }),
    hasTime: false,
  },
  'standard-webhooks': {
    setting: setting('standard-webhooks'),
    secret: standardSecret,
    sent: at => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(at),
      'webhook-signature': `v1a,xx v1,${hmac(`msg_1.${at}.`, standardKey).digest('base64')}`,
    }),
    hasTime: true,
  },
  svix: {
    setting: setting('standard-webhooks'),
    secret: standardSecret,
    sent: at => ({
      'svix-id': 'msg_1',
      'svix-timestamp': String(at),
      'svix-signature': `v1,${hmac(`msg_1.${at}.`, standardKey).digest('base64')}`,
    }),
    hasTime: true,
  },
  slack: {
    setting: setting('slack'),
    secret,
    sent: at => ({
      'x-slack-request-timestamp': String(at),
      'x-slack-signature': `v0=${hmac(`v0:${at}:`).digest('hex')}`,
    }),
    hasTime: true,
  },
  stripe: {
    setting: setting('stripe'),
    secret,
    sent: at => ({ 'stripe-signature': `t=${at},v1=${'0'.repeat(64)},v1=${hmac(`${at}.`).digest('hex')},v0=00` }),
    hasTime: true,
  },
  'custom in base64 without a time, as shops send it': {
    setting: { preset: 'custom', secret_key: 'X', header: 'X-Shop-Hmac', encoding: 'base64' },
    secret,
    sent: () => ({ 'x-shop-hmac': hmac('').digest('base64') }),
    hasTime: false,
  },
  'custom with SHA-512, a prefix and a time in ISO 8601': {
    setting: {
      preset: 'custom',
      secret_key: 'X',
      header: 'x-sig',
      prefix: 'h=',
      algorithm: 'sha512',
      timestamp_header: 'x-time',
      separator: '',
    },
    secret,
    sent: at => {
      const time = new Date(at * 1_000).toISOString()
      return { 'x-time': time, 'x-sig': `h=${hmac(time, secret, 'sha512').digest('hex')}` }
    },
    hasTime: true,
  },
}

interface Presented {
  readonly headers?: Headers
  readonly secrets?: readonly string[]
  readonly content?: Buffer
}
function isAccepted(
  scheme: Scheme,
  { headers = scheme.sent(nowS), secrets = [scheme.secret], content = body }: Presented,
) {
  const claim = claimOf(scheme.setting, headers)
  return claim !== undefined && isFresh(claim, nowMs) && isSignedBy(secrets, claim, content)
}

for (const [name, scheme] of Object.entries(schemes)) {
  test(`S28: ${name}: a signature of the raw body with any of the secrets is accepted`, () => {
    assert.ok(isAccepted(scheme, {}))
    assert.ok(isAccepted(scheme, { secrets: ['another', scheme.secret] }))
    assert.ok(isAccepted(scheme, { secrets: [scheme.secret, 'another'] }))
  })

  test(`S28: ${name}: another body, another secret, a missing and a changed signature are rejected`, () => {
    assert.ok(!isAccepted(scheme, { content: Buffer.from('{"a":"ä"}') }))
    assert.ok(!isAccepted(scheme, { secrets: ['another'] }))
    assert.ok(!isAccepted(scheme, { secrets: [] }))
    assert.ok(!isAccepted(scheme, { secrets: [''] }))
    for (const [header, value] of Object.entries(scheme.sent(nowS))) {
      const changed = String(value).replace(/.$/, last => (last === '0' ? '1' : '0'))
      const isSame = header === 'stripe-signature' || /=$/.test(String(value))
      if (!isSame) assert.ok(!isAccepted(scheme, { headers: { ...scheme.sent(nowS), [header]: changed } }), header)
      assert.ok(!isAccepted(scheme, { headers: { ...scheme.sent(nowS), [header]: undefined } }), `no ${header}`)
      assert.ok(!isAccepted(scheme, { headers: { ...scheme.sent(nowS), [header]: '' } }), `empty ${header}`)
    }
  })

  if (scheme.hasTime) {
    test(`S28: ${name}: the tolerance is 300 s in both directions`, () => {
      for (const off of [-300, 300]) assert.ok(isAccepted(scheme, { headers: scheme.sent(nowS + off) }), `${off} s`)
      for (const off of [-301, 301]) assert.ok(!isAccepted(scheme, { headers: scheme.sent(nowS + off) }), `${off} s`)
    })
  }
}

test('S28: the older SHA-1 signature of GitHub is ignored', () => {
  const headers = { 'x-hub-signature': `sha1=${hmac('', secret, 'sha1').digest('hex')}` }
  assert.equal(claimOf(setting('github'), headers), undefined)
})
