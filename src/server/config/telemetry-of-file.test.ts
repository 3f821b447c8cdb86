import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { load, problemsOf } = configReader()

test('metrics are on and need a key, and nothing is exported, unless the file says otherwise', () => {
  const { metrics, telemetry } = load({})
  assert.deepEqual(metrics, { isEnabled: true, isPublic: false, listen: undefined })
  assert.deepEqual(telemetry, { hasContent: false, otlp: undefined })
})

test('the address of the metrics may be IPv6', () => {
  assert.deepEqual(load({ yaml: 'metrics: { listen: "[::1]:9464" }' }).metrics.listen, { host: '::1', port: 9464 })
})

test('the endpoint loses its trailing slash, and headers may be variables', () => {
  const yaml = 'telemetry: { otlp: { endpoint: "http://c:4318/", headers: { authorization: os.environ/AUTH } } }'
  assert.deepEqual(load({ yaml, env: { AUTH: 'Basic x' } }).telemetry.otlp, {
    endpoint: 'http://c:4318',
    headers: { authorization: 'Basic x' },
    exportsLogs: false,
    propagates: false,
    sample: 1,
  })
})

const rejected = [
  ['metrics: { listen: "9464" }', '1: metrics.listen must be an address with a port, such as 127.0.0.1:9464'],
  [
    'metrics: { listen: "localhost:99999" }',
    '1: metrics.listen must be an address with a port, such as 127.0.0.1:9464',
  ],
  ['metrics: { enabled: false, public: true }', '1: metrics.public and metrics.listen need metrics.enabled: true'],
  ['telemetry: { content: true }', '1: telemetry.content needs telemetry.otlp.endpoint'],
  ['telemetry: { otlp: { logs: true } }', '1: telemetry.otlp needs an endpoint, such as http://localhost:4318'],
  ['telemetry: { otlp: { endpoint: "ftp://c" } }', '1: telemetry.otlp.endpoint must be an http or https URL'],
  [
    'telemetry: { otlp: { endpoint: "http://c:4318/v1/traces" } }',
    '1: telemetry.otlp.endpoint must be the base URL, without /v1/traces',
  ],
  [
    'telemetry: { otlp: { endpoint: "http://u:p@c:4318" } }',
    '1: telemetry.otlp.endpoint must not have a user name; use telemetry.otlp.headers',
  ],
  [
    'telemetry: { otlp: { endpoint: "http://c", sample: 1.5 } }',
    '1: telemetry.otlp.sample must be a number from 0 to 1',
  ],
  [
    'telemetry: { otlp: { endpoint: "http://c", headers: { "bad name": x } } }',
    '1: telemetry.otlp.headers.bad name cannot be set',
  ],
  [
    'telemetry: { otlp: { endpoint: "http://c", headers: { Content-Type: x } } }',
    '1: telemetry.otlp.headers.Content-Type cannot be set',
  ],
  [
    'telemetry: { otlp: { endpoint: "http://c", headers: { a: "" } } }',
    '1: telemetry.otlp.headers.a is not a valid header value',
  ],
] as const

for (const [yaml, problem] of rejected)
  test(`${yaml} is rejected`, () => assert.deepEqual(problemsOf({ yaml }), [problem]))
