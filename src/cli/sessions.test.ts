import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answers, runLine, scriptedService, streamOf } from '../../test/support/service/command-line.ts'
import { looseLog } from '../../test/support/sessions/loose-event.ts'

const session = (id: string, title: string) => ({ id, title, status: 'idle', time: { created: 0, updated: 0 } })
const say = (text: string) => ({ type: 'agent.message', content: [{ type: 'text', text }] })
const ask = (text: string, prompt_id: string) => ({
  type: 'user.message',
  content: [{ type: 'text', text }],
  prompt_id,
})
const idle = (prompt_id: string) => ({
  type: 'session.status_idle',
  stop_reason: { type: 'end_turn' },
  stop_details: null,
  prompt_id,
})
const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))

test('sessions ls prints one session per line for any title, and the cursor', async () => {
  const sessions = [session('ses_1', 'Fix\u001b]0;x\u0007 the\nbug'), session('ses_22', 'Other')]
  const { fetch, seen } = scriptedService({
    'GET /session': () => Response.json(sessions, { headers: { 'x-next-cursor': 'c2' } }),
  })
  const { code, stdout, stderr } = await runLine(['sessions', 'ls', '--status', 'idle', '--limit', '2'], {
    fetch,
    nowMs: () => 120_000,
  })
  assert.equal(code, 0)
  assert.deepEqual(stdout.split('\n'), [
    'ID      STATUS  UPDATED    TITLE',
    'ses_1   idle    2 min ago  Fix the bug',
    'ses_22  idle    2 min ago  Other',
    '',
  ])
  assert.equal(stderr, 'More: --cursor c2\n')
  assert.equal(seen[0]?.call, 'GET /session?limit=2&status=idle')
})

test('sessions ls --json prints one object with rows and cursor', async () => {
  const { fetch } = scriptedService({ 'GET /session': () => Response.json([session('ses_1', 'A')]) })
  const { stdout, stderr } = await runLine(['sessions', 'ls', '--json'], { fetch })
  assert.deepEqual(JSON.parse(stdout), { data: [session('ses_1', 'A')], next_cursor: null })
  assert.equal(stderr, '')
})

test('agents ls prints one agent per line', async () => {
  const agents = [{ id: 'agent_1', status: 'active', model: 'demo', name: 'A\nB' }]
  const { fetch } = scriptedService({ 'GET /api/agents': () => Response.json({ agents, next_cursor: null }) })
  const { stdout } = await runLine(['agents', 'ls'], { fetch })
  assert.equal(stdout, 'ID       STATUS  MODEL  NAME\nagent_1  active  demo   A B\n')
})

/** A deleted session with 15 messages. */
const log = looseLog([...Array.from({ length: 15 }, (_, at) => say(`line ${at + 1}`)), { type: 'session.deleted' }])
const tailAnswers: Answers = {
  'GET /v1/sessions/s/events': () => Response.json({ data: log.slice(-1), next_page: null }),
  'GET /v1/sessions/s/events/stream': streamOf(log),
}

test('sessions tail prints the last ten events and ends when the session is deleted', async () => {
  const { code, stdout } = await runLine(['sessions', 'tail', 's'], { fetch: scriptedService(tailAnswers).fetch })
  assert.equal(code, 0)
  const expected = log.slice(6, 15).map((_, at) => `line ${at + 7}`)
  assert.deepEqual(stdout.split('\n'), [...expected, '■ session was deleted', ''])
})

test('sessions tail --json prints the stored events after --after, one per line', async () => {
  const { fetch } = scriptedService(tailAnswers)
  assert.deepEqual(
    jsonLines((await runLine(['sessions', 'tail', 's', '--from-start', '--json'], { fetch })).stdout),
    log,
  )
  const { stdout } = await runLine(['sessions', 'tail', 's', '--after', '14', '--json'], { fetch })
  assert.deepEqual(jsonLines(stdout), log.slice(14))
})

test('Ctrl-C ends sessions tail without an error', async () => {
  const stop = new AbortController()
  const { fetch } = scriptedService({
    'GET /v1/sessions/s/events/stream': request => {
      setImmediate(() => stop.abort())
      return streamOf([])(request)
    },
  })
  const { code } = await runLine(['sessions', 'tail', 's', '--from-start'], { fetch, stop: stop.signal })
  assert.equal(code, 0)
})

/** The log of another prompt that runs before ours. */
const queue = looseLog([ask('theirs', 'p1'), ask('ours', 'p2'), say('for them'), idle('p1'), say('for us'), idle('p2')])

test('sessions send --follow waits for the end of its own prompt, after earlier prompts', async () => {
  const { fetch, seen } = scriptedService({
    'POST /v1/sessions/s/events': () => Response.json({ data: queue.slice(1, 2) }),
    'GET /v1/sessions/s/events': () => Response.json({ data: [], next_page: null }),
    'GET /v1/sessions/s/events/stream': streamOf(queue),
  })
  const { code, stdout } = await runLine(['sessions', 'send', 's', 'ours', '--follow'], { fetch })
  assert.equal(code, 0)
  assert.equal(stdout, 'for them\nfor us\n✓ done\n')
  assert.deepEqual(seen[0]?.body, { events: [{ type: 'user.message', content: [{ type: 'text', text: 'ours' }] }] })
})

test('sessions send --model --follow finds its prompt in the log', async () => {
  const { fetch, seen } = scriptedService({
    'GET /v1/sessions/s/events': () => Response.json({ data: [queue[0]], next_page: null }),
    'POST /session/s/prompt_async': () => new Response(null, { status: 204 }),
    'GET /v1/sessions/s/events/stream': streamOf(queue),
  })
  const { code, stdout } = await runLine(['sessions', 'send', 's', 'ours', '--model', 'm', '--follow'], { fetch })
  assert.equal(code, 0)
  assert.match(stdout, /for us\n✓ done\n$/)
  assert.deepEqual(seen[1]?.body, { model: { modelID: 'm' }, parts: [{ type: 'text', text: 'ours' }] })
})

const outOfMoney = {
  type: 'session.status_idle',
  stop_reason: { type: 'budget_reached' },
  stop_details: { type: 'budget_reached', message: 'key k may spend $1' },
  prompt_id: 'p1',
}

test('sessions send --follow does not wait when a budget pauses an earlier prompt', async () => {
  const paused = looseLog([ask('theirs', 'p1'), outOfMoney, ask('ours', 'p2')])
  const before = {
    'POST /v1/sessions/s/events': () => Response.json({ data: paused.slice(2) }),
    'GET /v1/sessions/s/events': () => Response.json({ data: paused.slice(1, 2), next_page: null }),
  }
  const stopping = looseLog([ask('theirs', 'p1'), ask('ours', 'p2'), say('for them'), outOfMoney])
  const meanwhile = {
    'POST /v1/sessions/s/events': () => Response.json({ data: stopping.slice(1, 2) }),
    'GET /v1/sessions/s/events': () => Response.json({ data: [], next_page: null }),
    'GET /v1/sessions/s/events/stream': streamOf(stopping),
  }
  for (const answers of [before, meanwhile]) {
    const { fetch } = scriptedService(answers)
    const { code, stdout } = await runLine(['sessions', 'send', 's', 'ours', '--follow'], { fetch })
    assert.equal(code, 7)
    assert.match(
      stdout,
      /‖ .*budget reached: key k may spend \$1 \(continues automatically when the budget has room\)\n$/,
    )
  }
})

test('sessions send returns immediately and prints how to follow', async () => {
  const { fetch, seen } = scriptedService({ 'POST /v1/sessions/s/events': () => Response.json({ data: [queue[1]] }) })
  const { code, stdout } = await runLine(['sessions', 'send', 's', 'ours'], { fetch })
  assert.equal(code, 0)
  assert.match(stdout, /^✓ queued .*switchyard sessions tail s/)
  assert.equal(seen.length, 1)
})

test('sessions stop requests the interrupt of the running prompt', async () => {
  const { fetch, seen } = scriptedService({ 'POST /session/s/interrupt': () => new Response(null, { status: 204 }) })
  const { code } = await runLine(['sessions', 'stop', 's'], { fetch })
  assert.equal(code, 0)
  assert.equal(seen[0]?.call, 'POST /session/s/interrupt')
})
