import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logSinksOfFile } from './log-sinks-of-file.ts'

type Entries = NonNullable<Parameters<typeof logSinksOfFile>[0]['entries']>

function read(...entries: Entries) {
  const problems: string[] = []
  const warnings: string[] = []
  const sinks = logSinksOfFile({
    entries,
    place: () => ({ line: 1 }),
    report: text => void problems.push(text),
    warn: text => void warnings.push(text),
  })
  return { sinks, problems, warnings }
}

const file = { name: 'disk', type: 'file', path: '/var/log/calls.jsonl' }
const http = { name: 'siem', type: 'http', url: 'https://logs.example.com/in' }

test('a file sink has defaults for its rotation', () => {
  assert.deepEqual(read(file), {
    sinks: [{ ...file, bodiesUntilMs: undefined, maxBytes: 100_000_000, maxAgeMs: 86_400_000, keep: 30 }],
    problems: [],
    warnings: [],
  })
})

test('headers of a sink over HTTP are in lower case, and its token may be in the vault', () => {
  const { sinks, problems } = read({ ...http, headers: { 'X-Team': 'a' }, bearer_vault_key: 'siem-token' })
  assert.deepEqual(problems, [])
  assert.deepEqual(sinks, [
    {
      ...http,
      bodiesUntilMs: undefined,
      format: 'json',
      headers: { 'x-team': 'a' },
      bearer: undefined,
      bearerVaultKey: 'siem-token',
    },
  ])
})

const wrong = [
  [{ type: 'file', path: '/a' }, /name is required/],
  [{ ...file, name: 'a b' }, /name must have/],
  [{ name: 'a' }, /type is required: file, http, otlp/],
  [{ ...http, type: 'htpp' }, /type must be file, http, otlp; did you mean http\?/],
  [{ ...file, url: 'https://x.example' }, /url is not a setting of type file/],
  [{ ...http, path: '/a' }, /path is not a setting of type http/],
  [{ ...http, type: 'otlp', format: 'json' }, /format is not a setting of type otlp/],
  [{ ...file, path: 'calls.jsonl' }, /path must be the absolute path/],
  [{ name: 'disk', type: 'file' }, /path is required/],
  [{ ...file, max_age: '5s' }, /max_age must be 1m or more/],
  [{ name: 'siem', type: 'http' }, /url is required/],
  [{ ...http, url: 'ftp://x' }, /url must be an https/],
  [{ ...http, url: 'https://u:p@x.example' }, /must not have a user name/],
  [{ ...http, format: 'xml' }, /format must be json or jsonl/],
  [{ ...http, bearer: 'a', bearer_vault_key: 'b' }, /exclude each other/],
  [{ ...http, bearer: 'a', headers: { Authorization: 'b' } }, /exclude each other/],
  [{ ...http, bearer_vault_key: 'a b' }, /name of a vault entry/],
  [{ ...http, headers: { Host: 'x' } }, /headers.Host cannot be set/],
  [{ ...http, headers: { 'X-A': 'a\nb' } }, /not a valid header value/],
  [{ ...file, bodies_until: 'soon' }, /bodies_until must be a time/],
  [{ ...file, bodies_until: '2999-01-01T00:00:00Z' }, /more than 90 days/],
] as const
for (const [entry, message] of wrong) {
  test(`${JSON.stringify(entry)} is rejected`, () => {
    const { problems } = read(entry)
    assert.equal(problems.length, 1, problems.join('\n'))
    assert.match(problems[0] ?? '', message)
  })
}

test('names and paths must be unique', () => {
  assert.match(read(file, { ...file, path: '/b' }).problems.join(), /name disk is a duplicate/)
  assert.match(read(file, { ...file, name: 'b' }).problems.join(), /path .* is used by an earlier sink/)
})

test('an end of bodies that has passed is a warning, so that the service starts again', () => {
  const { problems, warnings } = read({ ...file, bodies_until: '2020-01-01T00:00:00Z' })
  assert.deepEqual(problems, [])
  assert.match(warnings.join(), /has passed/)
})
