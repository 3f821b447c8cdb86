import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'

const approval = {
  id: 'evt_1',
  session_id: 'ses_1',
  agent_id: 'agent_1',
  tool_use_id: 'toolu_1',
  name: 'bash',
  input: { command: 'rm \u001b[2J-r x' },
  digest: 'd',
  state: 'pending',
  message: null,
  decided_by: null,
  decided_at: null,
  expires_at: '1970-01-01T00:00:00.000Z',
  created_at: '1970-01-01T00:00:00.000Z',
}

test('approvals ls prints one pending call per line, without terminal escapes', async () => {
  const { fetch, seen } = scriptedService({
    'GET /api/approvals': () => Response.json({ approvals: [approval], next_cursor: null }),
  })
  const { code, stdout } = await runLine(['approvals', 'ls'], { fetch })
  assert.equal(code, 0)
  assert.match(stdout, /evt_1 +ses_1 +pending +bash \{"command":"rm .*-r x"\}/)
  assert.ok(!stdout.includes('\u001b'))
  assert.equal(seen[0]?.call, 'GET /api/approvals?limit=50&state=pending')
})

for (const result of ['allow', 'deny'] as const) {
  test(`approvals ${result} decides the call with that id`, async () => {
    const { fetch, seen } = scriptedService({
      'POST /api/approvals/evt_1': () => Response.json({ ...approval, state: `${result}ed` }),
    })
    const why = result === 'deny' ? ['--message', 'no'] : []
    const { code } = await runLine(['approvals', result, 'evt_1', ...why], { fetch })
    assert.equal(code, 0)
    assert.deepEqual(seen[0]?.body, result === 'deny' ? { result, message: 'no' } : { result })
  })
}
