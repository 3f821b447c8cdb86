import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, loadConfig } from './load.ts'

const folder = mkdtempSync(join(tmpdir(), 'switchyard-hooks-'))
test.after(() => rmSync(folder, { recursive: true }))

function load(hooks: string, env: Readonly<Record<string, string>> = {}) {
  const configFile = join(folder, 'switchyard.yaml')
  writeFileSync(configFile, `hooks:\n${hooks}\n`)
  return loadConfig({ env: { GATEWAY_MASTER_KEY: 'a-key-of-sixteen-letters', ...env }, overrides: { configFile } })
}

const problemsOf = (hooks: string): string[] => {
  try {
    load(hooks)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message.split('\n').map(line => line.replace(/^.*yaml:/, ''))
  }
}

const guard = 'name: guard, url: "https://guard.example/check", phase: pre'

test('by default a hook blocks calls on failure, has a timeout of 2 s, and sees all calls', () => {
  const { hooks, warnings } = load(`  - {${guard}}`)
  assert.deepEqual(hooks, [
    {
      name: 'guard',
      url: 'https://guard.example/check',
      phase: 'pre',
      timeoutMs: 2_000,
      onError: 'block',
      models: [],
      keys: [],
      bufferStream: false,
      secret: undefined,
    },
  ])
  assert.deepEqual(warnings, [])
})

test('every field of a hook is read, and its secret may come from the environment', () => {
  const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  const { hooks } = load(
    `  - {name: seen_by-2, url: "https://x.example", phase: post, timeout_ms: 30000, on_error: allow, models: ["gpt-*"], keys: [key_1], buffer_stream: true, secret: os.environ/HOOK}`,
    { HOOK: secret },
  )
  const [hook] = hooks
  assert.deepEqual([hook?.timeoutMs, hook?.onError, hook?.models, hook?.keys], [30_000, 'allow', ['gpt-*'], ['key_1']])
  assert.deepEqual([hook?.bufferStream, hook?.secret], [true, secret])
})

test('problems of a hook are reported with field and line', () => {
  assert.deepEqual(
    problemsOf(
      [
        '  - {}',
        '  - {name: a b, url: "ftp://x", phase: before}',
        '  - {name: a, url: "https://me:pw@x.example", phase: pre, buffer_stream: true, timeout_ms: 30001}',
        '  - {name: a, url: "https://x.example#y", phase: pots, on_error: alow, secret: whsec_short, colour: red}',
        `  - {${guard}}`,
        `  - {${guard}}`,
      ].join('\n'),
    ),
    [
      '2: hooks[0].name is required',
      '2: hooks[0].url is required',
      '2: hooks[0].phase is required',
      '3: hooks[1].phase must be pre or post',
      '3: hooks[1].name must have 1 to 64 letters, digits, _ or -',
      '3: hooks[1].url must be an https:// or http:// address',
      '4: hooks[2].url must not have a user name or a password',
      '4: hooks[2].timeout_ms must be at most 30000',
      '4: hooks[2].buffer_stream requires phase post',
      '5: unknown key hooks[3].colour; known fields: name, url, phase, timeout_ms, on_error, models, keys, buffer_stream, secret',
      '5: hooks[3].phase must be pre or post; did you mean post?',
      '5: hooks[3].on_error must be allow or block; did you mean allow?',
      '5: hooks[3].url must not have a fragment',
      '5: hooks[3].secret must be whsec_ followed by 24 to 64 bytes in base64; create one with echo "whsec_$(openssl rand -base64 32)"',
      '7: hooks[5].name guard is a duplicate',
    ],
  )
})

test('a hook with a private address or without TLS is a warning unless its host and port are allowed', () => {
  const { warnings } = load(
    '  - {name: near, url: "http://10.0.0.5:9100/?token=of-mine", phase: pre}\n  - {name: far, url: "http://guard.example", phase: pre}',
  )
  assert.deepEqual(warnings, [
    'hook near: 10.0.0.5:9100 is not a public address; to allow it, add "10.0.0.5:9100" to outbound.allow',
    'hook far: the address must start with https://, unless "guard.example:80" is in outbound.allow',
  ])
})
