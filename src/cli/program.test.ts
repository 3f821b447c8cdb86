import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'

const commands = [
  'serve',
  'run',
  'doctor',
  'migrate',
  'secrets status',
  'secrets reseal',
  'secrets forget',
  'sessions ls',
  'sessions tail',
  'sessions send',
  'sessions stop',
  'agents ls',
  'keys ls',
  'keys create',
  'keys rotate',
  'keys revoke',
  'usage',
  'providers list',
  'providers set',
  'providers test',
  'providers remove',
  'models list',
  'models add',
  'models remove',
]

for (const command of ['', ...commands]) {
  test(`switchyard ${command} --help shows an example and the options of every command`, async () => {
    const { code, stdout, stderr } = await runLine([...command.split(' ').filter(Boolean), '--help'])
    assert.equal(code, 0)
    assert.equal(stderr, '')
    assert.match(stdout, /Examples:\n {2}\$ .+/)
    for (const option of ['--url', '--key', '--json']) assert.ok(stdout.includes(option), option)
  })
}

test('the help documents each exit code', async () => {
  const { stdout } = await runLine(['--help'])
  for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 130]) assert.match(stdout, new RegExp(`^ {2}${code} {2,}\\w`, 'm'))
})

const misuses = [
  ['no command', []],
  ['an unknown command', ['sesions']],
  ['a group without a command', ['sessions']],
  ['a missing argument', ['run']],
  ['a blank prompt', ['run', ' ']],
  ['an unknown option', ['agents', 'ls', '--color']],
  ['a number out of range', ['agents', 'ls', '--limit', '0']],
  ['an unknown status', ['sessions', 'ls', '--status', 'busy']],
  ['a time without a unit', ['run', 'x', '--timeout', '10']],
  ['two places to start from', ['sessions', 'tail', 's', '--from-start', '--after', '3']],
  ['an address that is none', ['agents', 'ls', '--url', 'localhost']],
  ['an id that would name another address', ['sessions', 'stop', '..']],
] as const

for (const [misuse, args] of misuses) {
  test(`${misuse} returns exit code 2 with a reason on standard error`, async () => {
    const { code, stdout, stderr } = await runLine(args)
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.notEqual(stderr, '')
  })
}

test('a usage error names the help of its command', async () => {
  const { stderr } = await runLine(['keys', 'create', '--colour'])
  assert.match(stderr, /^error: unknown option '--colour'\n/)
  assert.ok(stderr.endsWith('Run "switchyard keys create --help" for its usage.\n'))
})

const jsonMisuses = [
  [['agents', 'ls', '--colour'], "unknown option '--colour'"],
  [['run'], "missing required argument 'prompt'"],
  [['sesions'], "unknown command 'sesions'\n(Did you mean sessions?)"],
  [['sessions'], 'missing command'],
] as const

for (const [args, message] of jsonMisuses) {
  test(`with --json "switchyard ${args.join(' ')}" prints its usage error as one JSON object`, async () => {
    const { code, stdout, stderr } = await runLine([...args, '--json'])
    assert.deepEqual([code, stdout, JSON.parse(stderr)], [2, '', { error: { message, code: 'invalid_request' } }])
  })
}

const rejections = [
  [400, 2],
  [401, 4],
  [402, 7],
  [403, 4],
  [404, 5],
  [409, 6],
  [429, 7],
  [500, 1],
  [503, 1],
  [529, 7],
] as const

for (const [status, expected] of rejections) {
  test(`a ${status} of the service returns exit code ${expected} with its error code and request id`, async () => {
    const body = { error: { type: 'gateway_error', message: 'because\u001b[2J' } }
    const headers = { 'request-id': 'req_7' }
    const { fetch } = scriptedService({ 'GET /api/agents': () => Response.json(body, { status, headers }) })
    const { code, stdout, stderr } = await runLine(['agents', 'ls'], { fetch })
    assert.equal(code, expected)
    assert.equal(stdout, '')
    assert.match(stderr, /^[a-z_]+: because \(request req_7\)\n/)
  })
}

const missing = [
  [['sessions', 'show', 'x'], 'session x not found', 'switchyard sessions ls'],
  [['run', 'hello', '--agent', 'x'], 'agent x not found', 'switchyard agents ls'],
  [['memories', 'rm', 'x', 'y', '--yes'], 'memory y not found', undefined],
] as const

for (const [args, message, list] of missing) {
  test(`"${message}" names ${list === undefined ? 'no command' : `the command that lists what exists: ${list}`}`, async () => {
    const fetch = async () => Response.json({ error: { type: 'gateway_error', message } }, { status: 404 })
    const { code, stderr } = await runLine(args, { fetch })
    assert.equal(code, 5)
    const [, ...notes] = stderr.trimEnd().split('\n')
    assert.deepEqual(notes, list === undefined ? [] : [`Run "${list}" for the names and ids.`])
  })
}

test('an unreachable service returns exit code 3 with the next step', async () => {
  const { code, stderr } = await runLine(['agents', 'ls', '--url', 'http://127.0.0.1:4321'])
  assert.equal(code, 3)
  assert.match(stderr, /^cannot reach http:\/\/127\.0\.0\.1:4321: .*refused.*\nStart the service/)
})

test('with --json a failure is one JSON object on standard error', async () => {
  const body = { error: { type: 'gateway_error', message: 'unauthorized' } }
  const headers = { 'request-id': 'req_7' }
  const { fetch } = scriptedService({ 'GET /api/agents': () => Response.json(body, { status: 401, headers }) })
  const { code, stderr } = await runLine(['--json', 'agents', 'ls'], { fetch })
  assert.equal(code, 4)
  const error = {
    message: 'unauthorized',
    code: 'unauthorized',
    status: 401,
    type: 'gateway_error',
    request_id: 'req_7',
  }
  assert.deepEqual(JSON.parse(stderr), { error })
})

const keys = [
  ['--key wins', ['--key', 'a'], { SWITCHYARD_KEY: 'b', GATEWAY_MASTER_KEY: 'c' }, 'Bearer a'],
  ['then SWITCHYARD_KEY', [], { SWITCHYARD_KEY: 'b', GATEWAY_MASTER_KEY: 'c' }, 'Bearer b'],
  ['then GATEWAY_MASTER_KEY', [], { SWITCHYARD_KEY: '', GATEWAY_MASTER_KEY: 'c' }, 'Bearer c'],
  ['else no key is sent', [], {}, null],
] as const

for (const [guarantee, options, env, expected] of keys) {
  test(`the key: ${guarantee}`, async () => {
    const { fetch, seen } = scriptedService({
      'GET /api/agents': () => Response.json({ agents: [], next_cursor: null }),
    })
    assert.equal((await runLine(['agents', 'ls', ...options], { fetch, env })).code, 0)
    assert.equal(seen[0]?.headers.get('authorization'), expected)
  })
}

test('SWITCHYARD_URL sets the address, and an invalid one is reported', async () => {
  const env = { SWITCHYARD_URL: 'https://switchyard.test/base/' }
  const { fetch, seen } = scriptedService({
    'GET /base/api/agents': () => Response.json({ agents: [], next_cursor: null }),
  })
  assert.equal((await runLine(['agents', 'ls'], { fetch, env })).code, 0)
  assert.equal(seen.length, 1)
  const { code, stderr } = await runLine(['agents', 'ls'], { env: { SWITCHYARD_URL: 'nope' } })
  assert.equal(code, 2)
  assert.match(stderr, /SWITCHYARD_URL "nope" is not an address/)
})
