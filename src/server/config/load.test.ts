import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { load, problemsOf } = configReader()

const key = 'sk-a-key-of-good-length'

test('defaults: loopback, port 4000, no master key with a warning, only the demo model', () => {
  const config = load({})
  assert.deepEqual(
    [config.host, config.port, config.masterKey, config.demo, config.deployments],
    ['127.0.0.1', 4000, undefined, true, []],
  )
  assert.deepEqual(
    [config.limits, config.role, config.logLevel],
    [
      {
        maxStreams: 1000,
        maxSessions: 100,
        sessionEvents: 1_000_000,
        sessionBytes: 1_000_000_000,
        maxLoopDelayMs: 50,
        reserveBytesPerToken: 1,
        reserveServerToolCalls: 10,
        assumedOutputTokensPerSecond: 200,
        responseCacheBytes: 1_000_000_000,
        filesBytes: 10_000_000_000,
        reservationMs: 900_000,
        sandboxCpus: undefined,
        allowUnrestrictedEgress: false,
      },
      'all',
      'info',
    ],
  )
  assert.match(config.warnings.join(), /authentication is off/)
})

test('with a master key the server listens on all addresses without a warning', () => {
  const config = load({ env: { GATEWAY_MASTER_KEY: key } })
  assert.deepEqual([config.host, config.masterKey, config.warnings], ['0.0.0.0', key, []])
})

test('the environment sets address, database, folder, role and log level; options override it', () => {
  const env = {
    PORT: '8080',
    HOST: '::1',
    DATABASE_URL: 'postgres://a@b/c',
    SWITCHYARD_DATA_DIR: '/data',
    SWITCHYARD_ROLE: 'worker',
    LOG_LEVEL: 'debug',
  }
  const config = load({ env })
  assert.deepEqual(
    [config.port, config.host, config.databaseUrl, config.dataDir, config.role, config.logLevel],
    [8080, '::1', 'postgres://a@b/c', '/data', 'worker', 'debug'],
  )
  const other = load({ env, overrides: { port: 0, host: 'localhost', dataDir: '/other' } })
  assert.deepEqual([other.port, other.host, other.dataDir], [0, 'localhost', '/other'])
})

test('S13: the environment sets one or several encryption keys, and the first encrypts', () => {
  const [one, two] = [1, 2].map(byte => Buffer.alloc(32, byte).toString('base64'))
  const keysOf = (text: string) => load({ env: { SWITCHYARD_ENCRYPTION_KEY: text } }).encryptionKeys
  assert.deepEqual(load({}).encryptionKeys, [])
  assert.deepEqual(keysOf(' '), [])
  assert.deepEqual(keysOf(` ${one} `), [one])
  assert.deepEqual(keysOf(`${one}, ${two}`), [one, two])
})

test('S16: an encryption key that is not 32 bytes in base64 stops the start without being printed', () => {
  const good = Buffer.alloc(32, 1).toString('base64')
  for (const text of [good.slice(4), `${good}${good}`, '1'.repeat(64), `${good},`, `,${good}`, `${good};${good}`]) {
    const problems = problemsOf({ env: { SWITCHYARD_ENCRYPTION_KEY: text } })
    assert.deepEqual(
      problems.map(problem => problem.slice(0, 60)),
      ['SWITCHYARD_ENCRYPTION_KEY must be 32 bytes in base64, or sev'],
      text,
    )
    assert.equal(problems.join().includes(good), false)
  }
})

test('an external database without an encryption key is a warning: replicas would not share the key', () => {
  const env = { GATEWAY_MASTER_KEY: key, DATABASE_URL: 'postgres://a@b/c' }
  assert.match(load({ env }).warnings.join(), /SWITCHYARD_ENCRYPTION_KEY is not set/)
  const encryption = { SWITCHYARD_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') }
  assert.deepEqual(load({ env: { ...env, ...encryption } }).warnings, [])
})

test('empty variables count as unset', () => {
  const config = load({
    env: { GATEWAY_MASTER_KEY: '', PORT: ' ', HOST: '', SWITCHYARD_CONFIG: '', ANTHROPIC_API_KEY: '' },
  })
  assert.deepEqual([config.masterKey, config.port, config.host, config.deployments], [undefined, 4000, '127.0.0.1', []])
})

const starts = [
  ['no key, default address', {}, true],
  ['no key, 127.0.0.1', { env: { HOST: '127.0.0.1' } }, true],
  ['no key, another loopback address', { env: { HOST: '127.9.9.9' } }, true],
  ['no key, localhost', { overrides: { host: 'localhost' } }, true],
  ['no key, ::1', { env: { HOST: '::1' } }, true],
  ['no key, all addresses', { env: { HOST: '0.0.0.0' } }, false],
  ['no key, all IPv6 addresses', { overrides: { host: '::' } }, false],
  ['no key, a public address', { env: { HOST: '8.8.8.8' } }, false],
  ['no key, a name that starts like loopback', { env: { HOST: '127.evil.example' } }, false],
  ['an empty key, all addresses', { env: { HOST: '0.0.0.0', GATEWAY_MASTER_KEY: '' } }, false],
  [
    'no key, all addresses, switched on by hand',
    { env: { HOST: '0.0.0.0' }, overrides: { insecureNoAuth: true } },
    true,
  ],
  ['a key, all addresses', { env: { HOST: '0.0.0.0', GATEWAY_MASTER_KEY: key } }, true],
] as const

for (const [name, given, isAllowed] of starts) {
  test(`S04: start with ${name} is ${isAllowed ? 'allowed' : 'rejected'}`, () => {
    const problems = problemsOf(given)
    assert.equal(problems.length === 0, isAllowed)
    if (!isAllowed) assert.match(problems.join(), /without a master key.*--insecure-no-auth/)
  })
}

test('S16: sample keys and short keys are warnings', () => {
  const warningsOf = (masterKey: string) => load({ env: { GATEWAY_MASTER_KEY: masterKey } }).warnings.join()
  assert.match(warningsOf('sk-local'), /published sample/)
  assert.match(warningsOf('sk-short'), /weak/)
})

test('each provider key of the environment enables provider/*, and Claude models also by bare names', () => {
  const env = {
    ANTHROPIC_API_KEY: 'a',
    OPENAI_API_KEY: 'o',
    GEMINI_API_KEY: 'g',
    OPENROUTER_API_KEY: 'r',
    OLLAMA_HOST: '0.0.0.0',
  }
  const config = load({ env })
  assert.deepEqual(
    config.deployments.map(({ alias, protocols, apiBase, apiKey }) => [alias, protocols.join(' '), apiBase, apiKey]),
    [
      ['anthropic/*', 'anthropic-messages', 'https://api.anthropic.com', 'a'],
      ['claude-*', 'anthropic-messages', 'https://api.anthropic.com', 'a'],
      ['openai/*', 'openai-responses openai-chat', 'https://api.openai.com/v1', 'o'],
      ['gemini/*', 'gemini', 'https://generativelanguage.googleapis.com', 'g'],
      ['openrouter/*', 'anthropic-messages openai-chat', 'https://openrouter.ai/api', 'r'],
      ['ollama/*', 'anthropic-messages openai-chat', 'http://127.0.0.1:11434', undefined],
    ],
  )
  assert.deepEqual(config.outboundAllow, ['127.0.0.1:11434'])
  assert.doesNotMatch(config.warnings.join('\n'), /model /)
})

for (const [host, base, allow] of [
  ['gpu.lan', 'http://gpu.lan:11434', 'gpu.lan:11434'],
  ['10.0.0.5:80', 'http://10.0.0.5', '10.0.0.5:80'],
  ['http://10.0.0.5:9999/', 'http://10.0.0.5:9999', '10.0.0.5:9999'],
  ['https://ollama.example/prefix/', 'https://ollama.example/prefix', 'ollama.example:443'],
] as const) {
  test(`OLLAMA_HOST=${host} is called at ${base}, which is allowed`, () => {
    const config = load({ env: { OLLAMA_HOST: host } })
    assert.deepEqual([config.deployments[0]?.apiBase, config.outboundAllow], [base, [allow]])
  })
}

test('a file sets models with every parameter, several with the same name, and references to the environment', () => {
  const config = load({
    yaml: `
general_settings: { master_key: os.environ/MY_KEY }
model_list:
  - model_name: opus
    params:
      model: anthropic/claude-opus-5
      api_key: os.environ/SOME_KEY
      weight: 2
      headers: { Anthropic-Beta: "x", X-Team: os.environ/TEAM }
      timeouts: { connect_ms: 1, first_byte_ms: 2, idle_ms: 3, total_ms: 4 }
      cache: { ttl: 90m }
  - model_name: opus
    litellm_params: { model: acme/their-opus, protocol: anthropic-messages, api_base: "http://10.0.0.9:8000/prefix/v1/", api_key: secret-key }
  - { model_name: "local/*", params: { model: "ollama/*", api_base: "http://gpu.lan:11434" } }
outbound: { allow: ["10.0.0.9:8000"] }
limits:
  max_streams: 5
  max_sessions: 2
  session_events: 3000
  session_bytes: 4000
  max_loop_delay_ms: 80
  reserve_bytes_per_token: 2.5
  reserve_server_tool_calls: 3
  assumed_output_tokens_per_second: 80
  response_cache_bytes: 5000
  reservation_s: 60
  sandbox_cpus: 1.5
  allow_unrestricted_egress: true
demo: false
`,
    env: { MY_KEY: key, SOME_KEY: 'k', TEAM: 'blue', ANTHROPIC_API_KEY: 'unused' },
  })
  const [first, second, third] = config.deployments
  assert.deepEqual(first, {
    id: 'opus.1',
    alias: 'opus',
    provider: 'anthropic',
    upstreamModel: 'claude-opus-5',
    protocols: ['anthropic-messages'],
    apiBase: 'https://api.anthropic.com',
    apiKey: 'k',
    headers: { 'anthropic-beta': 'x', 'x-team': 'blue' },
    weight: 2,
    timeouts: { connectMs: 1, firstByteMs: 2, idleMs: 3, totalMs: 4 },
    cacheTtlMs: 5_400_000,
  })
  assert.deepEqual([second?.id, second?.provider, second?.apiBase], ['opus.2', 'acme', 'http://10.0.0.9:8000/prefix'])
  assert.deepEqual([third?.alias, third?.upstreamModel, third?.timeouts.totalMs], ['local/*', '*', 600_000])
  assert.deepEqual(
    [config.masterKey, config.demo, config.limits],
    [
      key,
      false,
      {
        maxStreams: 5,
        maxSessions: 2,
        sessionEvents: 3_000,
        sessionBytes: 4_000,
        maxLoopDelayMs: 80,
        reserveBytesPerToken: 2.5,
        reserveServerToolCalls: 3,
        assumedOutputTokensPerSecond: 80,
        responseCacheBytes: 5_000,
        filesBytes: 10_000_000_000,
        reservationMs: 60_000,
        sandboxCpus: 1.5,
        allowUnrestrictedEgress: true,
      },
    ],
  )
  assert.throws(() => Object.assign(config.deployments[0] ?? {}, { apiKey: 'x' }), TypeError)
})

test('S21: an unlisted private api_base is a warning with the entry to add', () => {
  const yaml =
    'model_list: [{model_name: a, params: {model: x/y, protocol: anthropic-messages, api_base: "http://10.0.0.9:8000"}}]'
  assert.match(load({ yaml }).warnings.join(), /model a: .*add "10\.0\.0\.9:8000" to outbound\.allow/)
})

test('S25: the key of a variable is sent only to the default address of the provider', () => {
  const models = (rest: string) => `model_list: [{model_name: a, params: {model: anthropic/x${rest}}}]`
  const env = { ANTHROPIC_API_KEY: 'from-env' }
  assert.equal(load({ yaml: models(''), env }).deployments[0]?.apiKey, 'from-env')
  assert.equal(load({ yaml: models(', api_base: "https://elsewhere.example"'), env }).deployments[0]?.apiKey, undefined)
})

test('a file without model_list keeps the providers of the environment', () => {
  assert.equal(load({ yaml: 'demo: false', env: { GEMINI_API_KEY: 'g' } }).deployments[0]?.alias, 'gemini/*')
})

const model = (params: string) => `model_list:\n  - model_name: a\n    params:\n      ${params}\n`

const faults = [
  ['a mistyped key', 'demoo: true', '1: unknown key demoo; did you mean demo?'],
  ['a mistyped key below', 'limits:\n  max_stream: 5', '2: unknown key limits.max_stream; did you mean max_streams?'],
  [
    'an unknown key',
    'colour: red',
    '1: unknown key colour; known fields: general_settings, sign_in, model_list, runtime_harnesses, mcp_servers, outbound, limits, retention, workspaces, sandbox, git_hosts, web_search, responses, hooks, log_sinks, router, logging, metrics, telemetry, prices, demo',
  ],
  ['a key of a later version', 'demo: true\nagents: {}', '2: agents is not supported in this version'],
  [
    'a time-out of nothing',
    model('{model: anthropic/x, timeout: 0}'),
    '4: model_list[0].params.timeout must be a number of 0.001 or more',
  ],
  ['a wrong type', 'demo: "yes"', '1: demo must be true or false'],
  [
    'bytes per token that would bound nothing',
    'limits: {reserve_bytes_per_token: 0.5}',
    '1: limits.reserve_bytes_per_token must be a number of 1 or more',
  ],
  ['a wrong number', 'limits: {max_streams: 0}', '1: limits.max_streams must be a whole number of 1 or more'],
  ['a list that is none', 'model_list: {}', '1: model_list must be a list'],
  [
    'a number as a name',
    'model_list: [{model_name: 5, params: {model: anthropic/x}}]',
    '1: model_list[0].model_name must be a string (put it in quotes)',
  ],
  ['no name', 'model_list: [{params: {model: anthropic/x}}]', '1: model_list[0].model_name is required'],
  ['no params', 'demo: true\nmodel_list:\n  - model_name: a', '3: model_list[0].params is required'],
  [
    'both params',
    'model_list: [{model_name: a, params: {model: anthropic/x}, litellm_params: {model: anthropic/x}}]',
    '1: model_list[0] has both params and litellm_params; remove one',
  ],
  [
    'no provider',
    model('model: claude'),
    '4: model_list[0].params.model must be "<provider>/<upstream id>", such as anthropic/claude-opus-5',
  ],
  [
    'a mistyped provider',
    model('model: antropic/x'),
    '4: model_list[0].params.model names the unknown provider antropic; did you mean anthropic?; for another provider set protocols and api_base',
  ],
  ['a provider without address', model('model: azure/x'), '4: model_list[0].params.api_base is required for azure'],
  [
    'an unknown protocol',
    model('{model: acme/x, protocol: soap, api_base: "https://a.example"}'),
    '4: model_list[0].params.protocol must be one of anthropic-messages, openai-chat, openai-responses, gemini, bedrock-converse, bedrock-invoke, vertex-anthropic',
  ],
  [
    'an address that is none',
    model('{model: anthropic/x, api_base: "ftp://a"}'),
    '4: model_list[0].params.api_base must be an https:// or http:// address',
  ],
  [
    'a key in the address',
    model('{model: anthropic/x, api_base: "https://u:p@a.example"}'),
    '4: model_list[0].params.api_base must not have a user name, query or fragment',
  ],
  [
    'a header of ours',
    model('{model: anthropic/x, headers: {Host: x}}'),
    '4: model_list[0].params.headers.Host cannot be set',
  ],
  [
    'a line break in a header',
    model('{model: anthropic/x, headers: {a: "x\\ny"}}'),
    '4: model_list[0].params.headers.a is not a valid header value',
  ],
  [
    'a wildcard on one side',
    'model_list: [{model_name: a, params: {model: "anthropic/*"}}]',
    '1: model_list[0].params.model ends in *, so model_name must end in * as well',
  ],
  [
    'a wildcard in the middle',
    'model_list: [{model_name: "a*b", params: {model: anthropic/x}}]',
    '1: model_list[0].model_name may contain * only at its end',
  ],
  [
    'the demo model’s name',
    'model_list: [{model_name: demo, params: {model: anthropic/x}}]',
    '1: model_list[0].model_name demo is the scripted model; rename it, or set demo: false',
  ],
  [
    'a variable that is not set',
    model('{model: anthropic/x, api_key: os.environ/NOPE}'),
    '4: model_list[0].params.api_key refers to the environment variable NOPE, which is not set',
  ],
  ['an empty master key', 'general_settings: {master_key: ""}', '1: general_settings.master_key is empty'],
  [
    'an entry that is no host:port',
    'outbound:\n  allow:\n    - http://x',
    '3: outbound.allow[0] must be host:port, such as 10.0.0.5:8080',
  ],
  ['a key twice', 'demo: true\ndemo: false', '2: Map keys must be unique at line 2, column 1:'],
] as const

for (const [name, yaml, expected] of faults) {
  test(`${name} stops the start and is reported with its line`, () =>
    assert.deepEqual(problemsOf({ yaml }), [expected]))
}

test('all problems are reported together, those of the environment first, then in the order of the file', () => {
  const yaml = 'demo: 5\nlimits: {max_streams: x}\nagents: {}\n'
  const problems = problemsOf({
    yaml,
    env: { PORT: 'abc', SWITCHYARD_ROLE: 'boss', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://u:hush@h' },
  })
  assert.equal(problems.length, 7)
  assert.deepEqual(
    problems.slice(-3).map(problem => problem[0]),
    ['1', '2', '3'],
  )
  assert.ok(!problems.join().includes('hush'))
})

test('a missing file is reported', () => {
  assert.match(
    problemsOf({ overrides: { configFile: '/nope/config.yaml' } }).join(),
    /cannot read configuration file .*\/nope\/config\.yaml/,
  )
})

test('E1: a wildcard may map to one fixed model', () => {
  const [deployment] = load({
    yaml: 'model_list: [{model_name: "claude-*", params: {model: ollama/qwen3}}]',
  }).deployments
  assert.deepEqual([deployment?.alias, deployment?.upstreamModel], ['claude-*', 'qwen3'])
})

test('WORKERS is a number of processes; an invalid value stops the start and is reported', () => {
  const workersOf = (text?: string) => load({ env: { WORKERS: text, GATEWAY_MASTER_KEY: key } }).workers
  assert.deepEqual([workersOf(), workersOf(''), workersOf('1'), workersOf('4'), workersOf('256')], [1, 1, 1, 4, 256])
  for (const text of ['0', 'abc', '-1', '1.5', '257', '4 ', 'auto']) {
    const expected = `WORKERS must be a whole number from 1 to 256, not ${JSON.stringify(text)}`
    assert.deepEqual(problemsOf({ env: { WORKERS: text, GATEWAY_MASTER_KEY: key } }), [expected])
  }
})

test('the console is on unless the file or the command line switches it off', () => {
  assert.equal(load({}).console, true)
  assert.equal(load({ yaml: 'general_settings: {console: false}' }).console, false)
  assert.equal(load({ yaml: 'general_settings: {console: true}', overrides: { noConsole: true } }).console, false)
  assert.match(problemsOf({ yaml: 'general_settings: {console: sometimes}' })[0] ?? '', /general_settings\.console/)
})
