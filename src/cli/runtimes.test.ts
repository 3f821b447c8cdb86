import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'

const key = 'sk-canary-0123456789'
const known = {
  id: 'cursor',
  alias: 'cursor',
  api_spec: 'cursor',
  connected: true,
  masked_api_key: '…6789',
  last_error: null,
}
const answers = {
  'PUT /api/agent-runtimes/cursor/credentials': () => Response.json({ runtimes: [known] }),
  'POST /api/runtime-harnesses': () => Response.json({ harnesses: [{ ...known, alias: 'oc' }] }),
}
const stdin = (text: string) => ({ isTerminal: false, read: async () => text })
const terminal = (text: string) => ({
  isTerminal: true,
  read: () => assert.fail('what is typed here would be shown'),
  readHidden: async () => text,
})

const lines: readonly (readonly [line: string, given: object, body: object])[] = [
  ['connect cursor', { stdin: stdin(`${key}\n`) }, { api_key: key }],
  ['connect cursor', { stdin: terminal(key) }, { api_key: key }],
  ['connect cursor --api-key-env MY_KEY', { env: { MY_KEY: key }, stdin: stdin('not this') }, { api_key: key }],
  ['connect cursor --from-env MY_KEY', { env: { MY_KEY: key } }, { api_key: key }],
  [
    'connect cursor --base https://proxy.example',
    { stdin: stdin(key) },
    { api_key: key, api_base: 'https://proxy.example' },
  ],
  [
    'add oc --spec opencode --base https://oc.example',
    { stdin: stdin('not asked for') },
    { alias: 'oc', api_spec: 'opencode', api_base: 'https://oc.example' },
  ],
  [
    'add oc --spec opencode --base https://oc.example --name Ours --from-stdin',
    { stdin: stdin(key) },
    { alias: 'oc', api_spec: 'opencode', api_base: 'https://oc.example', display_name: 'Ours', api_key: key },
  ],
]
for (const [line, given, body] of lines) {
  test(`runtimes ${line} sends the options and prints no part of the key (${Object.keys(given)})`, async () => {
    const { fetch, seen } = scriptedService(answers)
    const { code, stdout, stderr } = await runLine(['runtimes', ...line.split(' ')], { fetch, ...given })
    assert.equal(code, 0, stderr)
    assert.deepEqual(seen[0]?.body, body)
    assert.doesNotMatch(stdout + stderr, /canary/)
  })
}

for (const line of [
  'connect cursor',
  'connect cursor --api-key-env NOT_SET',
  'add oc --base https://oc.example',
  'add oc --spec smtp --base https://oc.example',
  'add oc --spec opencode',
]) {
  test(`runtimes ${line} without required input returns exit code 2 and sends no request`, async () => {
    const { fetch, seen } = scriptedService(answers)
    const { code, stderr } = await runLine(['runtimes', ...line.split(' ')], { fetch })
    assert.equal(code, 2)
    assert.notEqual(stderr, '')
    assert.deepEqual(seen, [])
  })
}

test('runtimes list prints the connection and the error of each runtime', async () => {
  const off = { ...known, connected: false, masked_api_key: null, api_base: '' }
  const harnesses = [
    { ...off, alias: 'builtin', api_spec: 'builtin', connected: true },
    { ...off, api_base: 'https://api.cursor.com' },
    { ...known, alias: 'oc', api_spec: 'opencode', api_base: 'https://oc', last_error: 'it failed\u001b[2J' },
    { ...off, alias: 'lost', api_spec: 'opencode', last_error: 'its key is lost' },
  ]
  const { fetch } = scriptedService({ 'GET /api/runtime-harnesses': () => Response.json({ harnesses }) })
  const { code, stdout, stderr } = await runLine(['runtimes', 'list'], { fetch })
  assert.equal(code, 0)
  assert.match(stdout, /^builtin +builtin +connected +- +-$/m)
  assert.match(stdout, /^cursor +cursor +- +- +https:\/\/api\.cursor\.com$/m)
  assert.match(stdout, /^oc +opencode +failing +…6789 +https:\/\/oc$/m)
  assert.match(stdout, /^lost +opencode +not used +- +-$/m)
  assert.equal(stderr, 'oc: it failed\nlost: its key is lost\n')
})

test('runtimes check returns exit code 1 when the runtime rejects the key', async () => {
  const answer = (body: object) => scriptedService({ 'POST /api/agent-runtimes/x/test': () => Response.json(body) })
  const good = await runLine(['runtimes', 'check', 'x'], answer({ ok: true, latency_ms: 120 }))
  assert.deepEqual([good.code, good.stdout], [0, '✓ x responds (0.1 s)\n'])
  const bad = await runLine(['runtimes', 'check', 'x'], answer({ ok: false, latency_ms: 5, error: 'status 401' }))
  assert.deepEqual([bad.code, bad.stdout], [1, '✗ status 401\n'])
})

test('runtimes disconnect and runtimes remove send the id', async () => {
  const ok = () => Response.json({ ok: true })
  const { fetch, seen } = scriptedService({
    'DELETE /api/agent-runtimes/cursor/credentials': ok,
    'DELETE /api/runtime-harnesses/oc': ok,
  })
  assert.equal((await runLine(['runtimes', 'disconnect', 'cursor', '--yes'], { fetch })).code, 0)
  assert.equal((await runLine(['runtimes', 'remove', 'oc', '--yes'], { fetch })).code, 0)
  assert.equal(seen.length, 2)
})
