import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answers, noService, runLine, scriptedService, streamOf } from '../../test/support/service/command-line.ts'
import { looseLog } from '../../test/support/sessions/loose-event.ts'
import type { Config } from '../server/config/config.ts'
import type { LocalService } from './local-service.ts'

const say = (text: string) => ({ type: 'agent.message', content: [{ type: 'text', text }] })
const ask = { type: 'user.message', content: [{ type: 'text', text: 'go' }] }
const running = { type: 'session.status_running' }
const idle = (type: string, details: object | null = null) => ({
  type: 'session.status_idle',
  stop_reason: { type },
  stop_details: details,
})
const outOfMoney = idle('budget_reached', { type: 'budget_reached', message: 'key k may spend $1' })
const failed = {
  type: 'session.error',
  error: { type: 'billing_error', message: 'no money', retry_status: { type: 'terminal' } },
}

const usual: Answers = {
  'GET /health': () => Response.json({ status: 'ok' }),
  'GET /v1/models': () => Response.json({ data: [{ id: 'demo' }, { id: 'acme/*' }, { id: 'acme/big' }] }),
  'POST /session': () => Response.json({ id: 's' }),
  'POST /session/s/interrupt': () => new Response(null, { status: 204 }),
  'GET /api/v1/managed_agents/sessions/s': () => Response.json({ id: 's', workspace: '/data/workspaces/s' }),
}

/** A service whose session `s` has an event log. */
const serviceWith = (events: Parameters<typeof looseLog>[0], more: Answers = {}) =>
  scriptedService({ ...usual, 'GET /v1/sessions/s/events/stream': streamOf(looseLog(events)), ...more })

test('run prints the events, the outcome, the folder of the files and how to continue', async () => {
  const tool = { type: 'agent.tool_use', name: 'bash', input: { command: 'ls' } }
  const result = { type: 'agent.tool_result', content: [{ type: 'text', text: 'a.txt' }] }
  const { fetch, seen } = serviceWith([ask, running, tool, result, say('One file.'), idle('end_turn')])
  const { code, stdout } = await runLine(['run', 'go'], { fetch })
  assert.equal(code, 0)
  const lines = stdout.replace(/after .* s\n/, 'after 1 s\n').split('\n')
  assert.deepEqual(lines, [
    'session s, model acme/big',
    '▸ bash  ls',
    '  a.txt',
    'One file.',
    '',
    '✓ done after 1 s',
    'files:   /data/workspaces/s',
    'continue: switchyard sessions send s "..." --follow',
    '',
  ])
  const created = seen.find(({ call }) => call === 'POST /session')
  assert.deepEqual(created?.body, { prompt: 'go', model: 'acme/big' })
})

test('without a real model run uses the scripted one and says so', async () => {
  const models = { 'GET /v1/models': () => Response.json({ data: [{ id: 'demo' }] }) }
  const { fetch, seen } = serviceWith([idle('end_turn')], models)
  const { stderr } = await runLine(['run', 'go'], { fetch })
  assert.match(stderr, /"demo", whose responses are scripted/)
  assert.deepEqual(seen.find(({ call }) => call === 'POST /session')?.body, { prompt: 'go', model: 'demo' })
})

const at = (id: string, output: number, owned_by = 'acme') => ({ id, owned_by, pricing: { input: output / 4, output } })

test('E6: without --model run chooses a model of medium price and prints the price', async () => {
  const data = [
    { id: 'demo' },
    at('acme/big', 40),
    at('acme/small', 2),
    at('acme/middle', 8),
    at('other/free', 0, 'other'),
  ]
  const models = { 'GET /v1/models': () => Response.json({ data }) }
  const { fetch, seen } = serviceWith([idle('end_turn')], models)
  const { stderr } = await runLine(['run', 'go'], { fetch })
  assert.match(
    stderr,
    /Model acme\/middle \(\$2 per million input tokens, \$8 per million output tokens\); choose another with --model/,
  )
  assert.deepEqual(seen.find(({ call }) => call === 'POST /session')?.body, { prompt: 'go', model: 'acme/middle' })
})

test('E6: run states that the price of a model is unknown', async () => {
  const { stderr } = await runLine(['run', 'go'], { fetch: serviceWith([idle('end_turn')]).fetch })
  assert.match(stderr, /Model acme\/big \(unknown price\)/)
})

test('a run uses the model of its agent unless --model is given', async () => {
  const first = serviceWith([idle('end_turn')])
  await runLine(['run', 'go', '--agent', 'agent_1'], { fetch: first.fetch })
  assert.deepEqual(first.seen.find(({ call }) => call === 'POST /session')?.body, { prompt: 'go', agent_id: 'agent_1' })
  const second = serviceWith([idle('end_turn')])
  await runLine(['run', 'go', '--agent', 'agent_1', '--model', 'm'], { fetch: second.fetch })
  const body = { prompt: 'go', model: 'm', agent_id: 'agent_1' }
  assert.deepEqual(second.seen.find(({ call }) => call === 'POST /session')?.body, body)
})

const outcomes = [
  ['a run that fails', [failed], 1, /✗ failed: no money \(billing_error\) after/],
  ['a model that refuses', [idle('refusal')], 1, /✗ failed: the model refused to answer after/],
  ['a run that another client stopped', [idle('end_turn', { type: 'interrupted' })], 1, /■ stopped on request after/],
  [
    'a run that a budget pauses',
    [outOfMoney],
    7,
    /‖ budget reached: key k may spend \$1 .*continues automatically.* after/,
  ],
  ['a run that waits for approval', [idle('requires_action')], 6, /\? waiting for approval/],
  ['a session that is deleted', [{ type: 'session.deleted' }], 1, /■ session was deleted/],
] as const

for (const [what, events, expected, line] of outcomes) {
  test(`${what} returns exit code ${expected} and is printed once`, async () => {
    const { code, stdout } = await runLine(['run', 'go'], { fetch: serviceWith([ask, running, ...events]).fetch })
    assert.equal(code, expected)
    assert.match(stdout, line)
    assert.equal(stdout.match(/[✗■?‖] /g)?.length, 1)
  })
}

test('a retry is shown and does not end the run', async () => {
  const retrying = { ...failed, error: { ...failed.error, retry_status: { type: 'retrying' } } }
  const { code, stdout } = await runLine(['run', 'go'], { fetch: serviceWith([retrying, idle('end_turn')]).fetch })
  assert.equal(code, 0)
  assert.match(stdout, /↻ retrying: no money/)
})

test('run --json prints the stored events, then one line with the end', async () => {
  const log = [ask, running, say('hi'), idle('end_turn')]
  const { stdout, stderr } = await runLine(['run', 'go', '--json'], { fetch: serviceWith(log).fetch })
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.deepEqual(lines.slice(0, -1), looseLog(log))
  const { elapsed_ms, ...end } = lines.at(-1)
  assert.deepEqual(end, {
    type: 'switchyard.run_end',
    session_id: 's',
    outcome: 'done',
    text: 'done',
    workspace: '/data/workspaces/s',
  })
  assert.equal(Number.isInteger(elapsed_ms), true)
  assert.equal(stderr, '')
})

/** A session whose run ends only when it is interrupted. */
function stoppableService() {
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
  const stopped = looseLog([ask, running, idle('end_turn', { type: 'interrupted' })])
  const more: Answers = {
    'POST /session/s/interrupt': () => {
      onAsked()
      return new Response(null, { status: 204 })
    },
    'GET /v1/sessions/s/events/stream': async request => {
      await asked
      return streamOf(stopped)(request)
    },
  }
  return scriptedService({ ...usual, ...more })
}

test('Ctrl-C interrupts the run, follows it to its end and returns exit code 130', async () => {
  const { fetch } = stoppableService()
  const { code, stdout, stderr } = await runLine(['run', 'go'], { fetch, stop: AbortSignal.abort() })
  assert.equal(code, 130)
  assert.match(stderr, /press Ctrl-C again to quit/)
  assert.match(stdout, /■ stopped on request/)
})

test('a run that exceeds --timeout is interrupted and returns exit code 1', async () => {
  const { code, stderr } = await runLine(['run', 'go', '--timeout', '1ms'], { fetch: stoppableService().fetch })
  assert.equal(code, 1)
  assert.match(stderr, /time limit reached/)
})

/** A local server whose requests `fetch` answers, with the number of starts and stops. */
function localService() {
  const counts = { started: 0, stopped: 0 }
  const server: LocalService = {
    ...noService,
    configure: async ({ overrides }) => {
      assert.deepEqual(overrides, { host: '127.0.0.1', port: 0, noConsole: true })
      return { masterKey: 'sk-own' } as Config
    },
    async start() {
      counts.started += 1
      const { signal: lost } = new AbortController()
      const stop = async () => {
        counts.stopped += 1
      }
      const url = 'http://127.0.0.1:5999'
      return {
        url,
        database: 'embedded',
        sandboxDriver: 'virtual',
        models: [],
        workers: 1,
        lost,
        reload: () => {},
        stop,
      }
    },
  }
  return { server, counts }
}

/** Like `fetch`, for one address only; other addresses refuse the connection. */
const only = (origin: string, fetch: typeof globalThis.fetch): typeof globalThis.fetch => {
  return async (input, init) => {
    if (String(input).startsWith(origin)) return fetch(input, init)
    throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
  }
}

test('without a running service run starts one with its own key and stops it afterwards', async () => {
  const { server, counts } = localService()
  const { fetch, seen } = serviceWith([idle('end_turn')])
  const { code, stdout } = await runLine(['run', 'go'], { fetch: only('http://127.0.0.1:5999', fetch), server })
  assert.equal(code, 0)
  assert.deepEqual(counts, { started: 1, stopped: 1 })
  assert.equal(seen[0]?.headers.get('authorization'), 'Bearer sk-own')
  assert.match(stdout, /start the service first: npm start/)
})

test('a service started for a run is stopped even when the run cannot start', async () => {
  const { server, counts } = localService()
  const { fetch } = scriptedService({})
  const { code } = await runLine(['run', 'go'], { fetch: only('http://127.0.0.1:5999', fetch), server })
  assert.equal(code, 5)
  assert.deepEqual(counts, { started: 1, stopped: 1 })
})

test('run does not start a service when the user has given an address', async () => {
  const { code } = await runLine(['run', 'go', '--url', 'http://127.0.0.1:4321'])
  assert.equal(code, 3)
})

test('D10: ignored fields are a warning on standard error, as JSON with --json', async () => {
  const ignoring: Answers = {
    'POST /session': () => Response.json({ id: 's' }, { headers: { 'x-switchyard-ignored': 'environment.ref, +1' } }),
  }
  const { fetch } = serviceWith([idle('end_turn')], ignoring)
  const { code, stderr } = await runLine(['run', 'go'], { fetch })
  assert.equal(code, 0)
  assert.match(stderr, /^warning: the service ignored environment\.ref, \+1$/m)
  const json = await runLine(['run', 'go', '--json'], { fetch })
  assert.match(json.stderr, /^\{"warning":"the service ignored environment\.ref, \+1"\}$/m)
})

test('D11: run with an unknown model fails before it creates a session and suggests a model', async () => {
  const message = 'model nope not found; did you mean acme/nope?'
  const answer = () => Response.json({ type: 'error', error: { type: 'not_found_error', message } }, { status: 404 })
  const { fetch, seen } = serviceWith([idle('end_turn')], { 'GET /v1/models/nope': answer })
  const { code, stderr } = await runLine(['run', 'go', '--model', 'nope'], { fetch })
  assert.notEqual(code, 0)
  assert.match(stderr, /did you mean acme\/nope\?/)
  assert.ok(seen.every(({ call }) => call !== 'POST /session'))
})
