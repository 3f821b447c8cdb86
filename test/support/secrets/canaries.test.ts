import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type Canary, plantCanary, scan } from './canaries.ts'

const { canary, secret } = plantCanary('api key', core => `sk-"${core}+/=é`)
const raw: Canary = { name: 'raw', core: randomBytes(32) }
const hidden = { name: 'other', core: randomBytes(32) }

const writings: readonly (readonly [what: string, write: (bytes: Buffer) => Buffer | string])[] = [
  ['plain', bytes => bytes],
  ['in a URL', bytes => encodeURIComponent(bytes.toString())],
  ['in JSON in JSON', bytes => JSON.stringify(JSON.stringify({ text: bytes.toString() }))],
  ['hex', bytes => bytes.toString('hex')],
  ['hex in capitals', bytes => bytes.toString('hex').toUpperCase()],
  ['base64', bytes => bytes.toString('base64')],
  ['base64url', bytes => bytes.toString('base64url')],
  ['base64 behind a byte', bytes => Buffer.concat([Buffer.from(':'), bytes, Buffer.from('!')]).toString('base64')],
  ['base64 behind two bytes', bytes => Buffer.concat([Buffer.from('u:'), bytes, Buffer.from('xy')]).toString('base64')],
  ['the first 24 bytes', bytes => bytes.subarray(0, 24 + 4)],
  ['without the first 4 bytes', bytes => bytes.subarray(4)],
]

for (const [what, write] of writings) {
  test(`a secret is found ${what}, between other bytes`, () => {
    const isText = what === 'in a URL' || what === 'in JSON in JSON'
    for (const [wanted, bytes] of [[canary, Buffer.from(secret)], ...(isText ? [] : [[raw, raw.core]])] as const) {
      const content = Buffer.concat([randomBytes(101), Buffer.from(write(bytes as Buffer)), randomBytes(103)])
      const { findings } = scan([['somewhere', content]], [hidden, wanted as Canary])
      assert.deepEqual(
        findings.map(({ canary: name, place }) => [name, place]),
        [[(wanted as Canary).name, 'somewhere']],
      )
    }
  })
}

test('nothing is found where nothing is, and an allowed place counts only for its canary', () => {
  const places = [
    ['a', randomBytes(1_000_000)],
    ['b', secret],
  ] as const
  const allowed = [
    { canary: /^api key$/, place: /^b$/, reason: 'it is shown once' },
    { canary: /^api key$/, place: /^c$/, reason: 'nobody is there' },
  ]
  assert.deepEqual(scan(places, [canary, hidden], allowed), { findings: [], unused: [allowed[1]] })
  assert.equal(scan([['b', raw.core]], [raw], allowed).findings.length, 1)
})
