import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { load, problemsOf } = configReader()
const env = { GATEWAY_MASTER_KEY: 'sk-a-long-enough-master-key', OC_KEY: 'secret-of-the-harness' }
const listing = (...entries: readonly string[]) =>
  `runtime_harnesses:\n${entries.map(entry => `  - ${entry}\n`).join('')}`

test('runtimes are read with normalised addresses, keys of the environment, and programs with their variables', () => {
  const yaml = listing(
    '{alias: oc, api_spec: opencode, api_base: "https://oc.example/base/", api_key: os.environ/OC_KEY}',
    '{alias: second, api_spec: claude_managed_agents, display_name: Second account, api_key: k}',
    '{alias: claude, api_spec: acp, command: [claude-agent-acp], env: {ANTHROPIC_BASE_URL: "http://127.0.0.1:4000"}}',
    '{alias: local, api_spec: opencode, command: [/usr/bin/opencode, serve]}',
  )
  assert.deepEqual(load({ yaml, env }).runtimeHarnesses, [
    {
      alias: 'oc',
      apiSpec: 'opencode',
      displayName: 'oc',
      apiBase: 'https://oc.example/base',
      apiKey: 'secret-of-the-harness',
      command: undefined,
      env: {},
    },
    {
      alias: 'second',
      apiSpec: 'claude_managed_agents',
      displayName: 'Second account',
      apiBase: 'https://api.anthropic.com',
      apiKey: 'k',
      command: undefined,
      env: {},
    },
    {
      alias: 'claude',
      apiSpec: 'acp',
      displayName: 'claude',
      apiBase: '',
      apiKey: undefined,
      command: ['claude-agent-acp'],
      env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:4000' },
    },
    {
      alias: 'local',
      apiSpec: 'opencode',
      displayName: 'local',
      apiBase: '',
      apiKey: undefined,
      command: ['/usr/bin/opencode', 'serve'],
      env: {},
    },
  ])
})

const faults = [
  ['{api_spec: acp, command: [x]}', '2: runtime_harnesses[0].alias is required'],
  ['{alias: a}', '2: runtime_harnesses[0].api_spec is required'],
  [
    '{alias: "a b", api_spec: acp, command: [x]}',
    '2: runtime_harnesses[0].alias must have 1 to 64 letters, digits, _ or -',
  ],
  ['{alias: cursor, api_spec: acp, command: [x]}', '2: runtime_harnesses[0].alias cursor is a built-in runtime'],
  [
    '{alias: a, api_spec: open_code, api_base: "https://a.example"}',
    '2: runtime_harnesses[0].api_spec must be one of claude_managed_agents, opencode, acp, cursor, a2a; did you mean opencode?',
  ],
  ['{alias: a, api_spec: acp}', '2: runtime_harnesses[0].command is required for acp'],
  ['{alias: a, api_spec: acp, command: []}', '2: runtime_harnesses[0].command must name a program'],
  ['{alias: a, api_spec: opencode}', '2: runtime_harnesses[0].api_base is required for opencode'],
  [
    '{alias: a, api_spec: opencode, command: [x], api_base: "https://a.example"}',
    '2: runtime_harnesses[0] has both command and api_base; remove one',
  ],
  [
    '{alias: a, api_spec: cursor, command: [x]}',
    '2: runtime_harnesses[0].command is not supported for cursor; use api_base',
  ],
  ['{alias: a, api_spec: cursor, env: {A: b}}', '2: runtime_harnesses[0].env requires command'],
  [
    '{alias: a, api_spec: acp, command: [x], env: {A=B: c}}',
    '2: runtime_harnesses[0].env.A=B is not a valid environment variable',
  ],
  [
    '{alias: a, api_spec: cursor, api_base: "ftp://a.example"}',
    '2: runtime_harnesses[0].api_base must be an https:// or http:// address',
  ],
  [
    '{alias: a, api_spec: cursor, api_base: "https://u:p@a.example"}',
    '2: runtime_harnesses[0].api_base must not have a user name, query or fragment',
  ],
  [
    '{alias: a, api_spec: cursor, api_key: ""}',
    '2: runtime_harnesses[0].api_key is empty or contains a character that is not allowed in an HTTP header',
  ],
  ['{alias: a, api_spec: cursor, api_bas: x}', '2: unknown key runtime_harnesses[0].api_bas; did you mean api_base?'],
] as const
for (const [entry, problem] of faults) {
  test(`${entry} is rejected with its line`, () => {
    assert.deepEqual(problemsOf({ yaml: listing(entry), env }), [problem])
  })
}

test('a duplicate alias is rejected', () => {
  const entry = '{alias: a, api_spec: cursor, api_key: k}'
  assert.deepEqual(problemsOf({ yaml: listing(entry, entry), env }), ['3: runtime_harnesses[1].alias a is a duplicate'])
})

test('S21: a blocked address is a warning at start with the entry to add', () => {
  const warningsOf = (base: string, allow = '') =>
    load({ yaml: `${listing(`{alias: a, api_spec: opencode, api_base: "${base}"}`)}${allow}`, env }).warnings
  assert.deepEqual(warningsOf('http://127.0.0.1:4096'), [
    'runtime a: 127.0.0.1:4096 is not a public address; to allow it, add "127.0.0.1:4096" to outbound.allow',
  ])
  assert.match(warningsOf('http://oc.example')[0] ?? '', /^runtime a: api_base is not https/)
  assert.deepEqual(warningsOf('http://127.0.0.1:4096', 'outbound: {allow: ["127.0.0.1:4096"]}\n'), [])
  assert.deepEqual(warningsOf('https://oc.example'), [])
})

test('sandbox accepts only none, and only for programs that the service starts', () => {
  const entry = (rest: string) => load({ yaml: listing(`{alias: a, api_spec: acp, command: [node], ${rest}}`), env })
  assert.equal(entry('sandbox: none').runtimeHarnesses[0]?.isolation, 'none')
  const wrong = listing(
    '{alias: a, api_spec: acp, command: [node], sandbox: off}',
    '{alias: b, api_spec: opencode, api_base: "https://oc.example", sandbox: none}',
  )
  const problems = problemsOf({ yaml: wrong, env }).join('\n')
  assert.match(problems, /\[0\]\.sandbox must be "none"/)
  assert.match(problems, /\[1\]\.sandbox requires command/)
})
