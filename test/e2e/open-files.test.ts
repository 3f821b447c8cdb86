import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { notBehindProxy } from '../support/contract/contract-tests.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { shellAgent } from '../support/sessions/shell-agent.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()
const { pid } = service
after(() => upstream.release())

const used = () => readdirSync(`/proc/${pid}/fd`).length
const setLimit = (limit: number) => execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:20000`])
const readiness = () => send(service, 'GET /health/ready')

const skip = notBehindProxy('the proxy opens a connection for each request, which the limit leaves no room for')

test('V3: a tool call at the limit of open files fails alone; readiness names the limit; later calls work', {
  skip,
}, async () => {
  const body = { name: 'Held', owner_id: 'held', model: 'scripted' }
  const { id: agent_id } = (await send(service, 'POST /api/agents', { body })).json<Agent>()
  const prompt = saying({ ...bash('echo ran'), pauseAtFrame: 2 }, { text: 'done' })
  const session = (await send(service, 'POST /session', { body: { agent_id, prompt } })).json<Session>()
  const tail = await followEvents(service, session.id)
  await upstream.received(1)

  // Enough for a request, and not for the pipes of a command.
  setLimit(used() + 3)
  // The count is cached for a moment.
  const refused = await eventually(async () => {
    const answer = await readiness()
    return answer.status === 503 && answer
  })
  assert.match(refused.text, /file descriptor/)
  upstream.release()
  const result = await tail.event('agent.tool_result')
  assert.equal(result['is_error'], true)
  assert.match(JSON.stringify(result['content']), /limit of open files/)
  const call = { model: 'scripted', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }
  const model = await send(service, 'POST /v1/messages', { body: call })
  assert.deepEqual([model.status, model.headers['retry-after']], [529, '2'])
  assert.match(model.text, /server is overloaded: .*file descriptor/)

  setLimit(20_000)
  await eventually(async () => (await readiness()).status === 200)
  const run = await shellAgent(service)
  assert.deepEqual(await run('echo ran'), { text: 'ran', isError: false })
  tail.close()
})
