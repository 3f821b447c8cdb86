import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'

const session = {
  session_id: 'ses_1',
  title: 'Loops\u001b[2J',
  agent_id: 'agent_1',
  owner_id: 'ada',
  key_id: null,
  runtime: 'builtin',
  prompt_id: 'msg_1',
  run_id: 'run_1',
  started_at: '1970-01-01T00:00:00.000Z',
  held_by: null,
  waiting_prompts: 2,
  calls_per_minute: 12,
  cost_per_minute: 0.5,
}
const freeze = {
  id: 'freeze_1',
  scope: 'owner',
  scope_id: 'ada',
  reason: 'enough',
  created_by: 'master',
  created_at: '1970-01-01T00:00:00.000Z',
}

test('running lists running sessions with waiting prompts and cost per minute', async () => {
  const answer = {
    running_sessions: 1,
    calls_per_minute: 12,
    cost_per_minute: 0.5,
    sessions: [session],
    keys: [],
    next_cursor: 'c2',
  }
  const { fetch } = scriptedService({ 'GET /v1/running': () => Response.json(answer) })
  const { code, stdout, stderr } = await runLine(['running'], { fetch, nowMs: () => 120_000 })
  assert.equal(code, 0)
  assert.deepEqual(stdout.split('\n'), [
    '1 running sessions; 12 model calls in the last minute cost $0.500',
    'ID     OWNER  AGENT    SINCE      WAITING  COST/MIN  TITLE',
    'ses_1  ada    agent_1  2 min ago  2        $0.500    Loops',
    '',
  ])
  assert.match(stderr, /More: --cursor c2/)
})

test('an unknown cost is shown as unknown', async () => {
  const answer = {
    running_sessions: 0,
    calls_per_minute: 3,
    cost_per_minute: null,
    sessions: [],
    keys: [],
    next_cursor: null,
  }
  const { fetch } = scriptedService({ 'GET /v1/running': () => Response.json(answer) })
  assert.match((await runLine(['running'], { fetch })).stdout, /3 model calls in the last minute cost unknown/)
})

test('stop and freezes set send their target, and freezes lift sends the id', async () => {
  const { fetch, seen } = scriptedService({
    'POST /v1/stop': () => Response.json({ sessions: 1, runs: 1, prompts: 2 }),
    'PUT /v1/freezes': () => Response.json(freeze),
    'DELETE /v1/freezes/freeze_1': () => new Response(null, { status: 204 }),
    'GET /v1/freezes': () => Response.json({ freezes: [freeze], next_cursor: null }),
  })
  const lines = [
    ['stop', '--session-id', 'ses_1', '--reason', 'it loops'],
    ['stop', '--agent-id', 'agent_1'],
    ['stop', '--key-id', 'key_1'],
    ['stop', '--all'],
    ['freezes', 'set', '--owner', 'ada', '--reason', 'enough'],
    ['freezes', 'lift', 'freeze_1'],
    ['freezes', 'ls'],
  ]
  const outputs: string[] = []
  for (const line of lines) {
    const { code, stdout } = await runLine(line, { fetch })
    assert.equal(code, 0)
    outputs.push(stdout)
  }
  assert.deepEqual(
    seen.filter(({ body }) => body !== undefined).map(({ body }) => body),
    [
      { session_id: 'ses_1', reason: 'it loops' },
      { agent_id: 'agent_1' },
      { key_id: 'key_1' },
      { all: true },
      { owner: 'ada', reason: 'enough' },
    ],
  )
  assert.ok(seen.some(({ call }) => call === 'DELETE /v1/freezes/freeze_1'))
  assert.match(outputs[0] ?? '', /requested the stop of 1 runs in 1 sessions; cancelled 2 waiting prompts/)
  assert.match(outputs[4] ?? '', /spending of owner ada is frozen; lift it with: switchyard freezes lift freeze_1/)
  assert.match(outputs[6] ?? '', /freeze_1 {2}owner {2}ada/)
})
