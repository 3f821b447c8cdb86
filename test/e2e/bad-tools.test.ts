import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { legacyScript, type Script, sendJson, startScriptedUpstream, tool } from '../support/mcp/scripted-upstream.ts'
import { eventually } from '../support/service/eventually.ts'
import { lack } from '../support/service/lack.ts'
import { isRunning } from '../support/service/processes.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { endsTurn, startScriptedRig } from '../support/sessions/scripted-rig.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { saying } from '../support/upstream/scripted-service.ts'

/** The call that waits for a completion of the client. */
let sampling: { readonly id: unknown; readonly response: ServerResponse } | undefined
const stream = (response: ServerResponse, message: object) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(message)}\n\n`)

/** What the server does wrong with a call, by the name of the tool. */
const wrongs: Readonly<Record<string, Script>> = {
  hang: () => undefined,
  die: (_request, response) => void response.destroy(),
  garbage: (_request, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc": <html>'),
  large({ body }, response) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(`{"jsonrpc":"2.0","id":${body['id']},"result":{"content":[{"type":"text","text":"`)
    const part = Buffer.alloc(1_000_000, 'x')
    for (let at = 0; at < 50; at++) response.write(part)
    response.end('"}]}}')
  },
  sample({ body }, response) {
    sampling = { id: body['id'], response }
    const params = { messages: [{ role: 'user', content: { type: 'text', text: 'Who are you?' } }], maxTokens: 100 }
    stream(response, { jsonrpc: '2.0', id: 'sampling-1', method: 'sampling/createMessage', params })
  },
}
const onCall: Script = (request, response) =>
  wrongs[(request.body['params'] as { name: string }).name]?.(request, response)
const listed = legacyScript(() => Object.keys(wrongs).map(name => tool(name)), onCall)
const server = await startScriptedUpstream((request, response) => {
  const { id, method, error } = request.body
  if (method !== undefined || id !== 'sampling-1') return listed(request, response)
  response.writeHead(202).end()
  const text = error ? 'sampling was refused' : 'sampling was granted'
  const result = { content: [{ type: 'text', text }] }
  sampling?.response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: sampling.id, result })}\n\n`)
})
const other = await startScriptedUpstream(
  legacyScript(
    () => [tool('look')],
    ({ body }, response) =>
      sendJson(response, { jsonrpc: '2.0', id: body['id'], result: { content: [{ type: 'text', text: 'looked' }] } }),
  ),
)
const rig = await startScriptedRig({
  allow: [server.url, other.url],
  mcpServers: [
    { server_name: 'wrong', url: server.url },
    { server_name: 'other', url: other.url },
  ],
})
const { ok } = rig
const { id: agentId } = await ok<Agent>('POST /api/agents', {
  name: 'Any',
  owner_id: 'team',
  model: 'scripted',
  config: { mcp_servers: ['wrong', 'other'] },
})

const calling = (name: string, input: object = {}): Answer => ({ tool_calls: [{ name, input }] })
const resultsIn = (events: readonly SessionEvent[]) =>
  events
    .filter(({ type }) => type === 'agent.tool_result' || type === 'agent.mcp_tool_result')
    .map(({ is_error, content }) => ({ isError: is_error === true, text: JSON.stringify(content) }))

/** Runs a session with these calls, a turn each, and returns their results. */
async function resultsOf(...answers: readonly Answer[]) {
  const prompt = saying(...answers, { text: 'Done.' })
  const { id } = await ok<Session>('POST /session', { agent_id: agentId, prompt })
  const tail = await followEvents(rig.service, id)
  await tail.event(event => endsTurn(event) || event.type === 'session.error', 120_000)
  tail.close()
  assert.ok(tail.events.some(endsTurn), JSON.stringify(tail.events.at(-1)))
  return resultsIn(tail.events)
}

test('commands that do not end, fork, flood or leave processes reach a limit, and the session continues', {
  skip: lack('bubblewrap'),
}, async () => {
  const bash = (command: string, timeout_ms: number) => calling('bash', { command, timeout_ms })
  const [fork, flood, loop, left, memory, next] = await resultsOf(
    bash('b() { b | b & }; b; sleep 60', 2_000),
    bash('cat /dev/zero | tr "\\0" x', 2_000),
    bash('while :; do :; done', 1_000),
    bash('setsid nohup sleep 77773 >/dev/null 2>&1 & (sleep 77773 &); echo started', 5_000),
    bash('head -c 20G /dev/zero | tail', 10_000),
    bash('echo it-works', 10_000),
  )
  assert.deepEqual([fork?.isError, loop?.isError, memory?.isError], [true, true, true])
  assert.equal(flood?.isError, true)
  assert.ok((flood?.text.length ?? 0) < 100_000, 'the output is cut')
  assert.match(left?.text ?? '', /started/)
  assert.ok(!isRunning('sleep 77773'), 'a process outlived its command')
  assert.deepEqual(next, { isError: false, text: '[{"type":"text","text":"it-works"}]' })
})

test('calls of an MCP server that dies, sends garbage or 50 MB, or asks for a completion end with an error', async () => {
  const results = await resultsOf(
    calling('wrong__die'),
    calling('wrong__garbage'),
    calling('wrong__large'),
    calling('wrong__sample'),
    calling('other__look'),
  )
  const [die, garbage, large, sample, look] = results
  assert.deepEqual(
    [die?.isError, garbage?.isError, large?.isError],
    [true, true, true],
    JSON.stringify(results).slice(0, 2_000),
  )
  assert.ok((large?.text.length ?? 0) < 10_000)
  assert.ok(!sample?.text.includes('granted'), sample?.text)
  assert.deepEqual([look?.isError, look?.text.includes('looked')], [false, true])
})

test('a call of an MCP server that hangs ends when the session is interrupted, and the next prompt works', async () => {
  const prompt = saying(calling('wrong__hang'), { text: 'Done.' })
  const { id } = await ok<Session>('POST /session', { agent_id: agentId, prompt })
  const hangs = () => server.requests.some(({ text }) => text.includes('"name":"hang"'))
  await eventually(hangs, { what: 'the call' })
  await ok(`POST /session/${id}/interrupt`)
  const tail = await followEvents(rig.service, id)
  await tail.event(endsTurn)
  assert.deepEqual(
    resultsIn(tail.events).map(({ isError }) => isError),
    [true],
  )
  const parts = [{ type: 'text', text: saying(calling('other__look'), { text: 'Done.' }) }]
  await ok(`POST /session/${id}/message`, { model: { modelID: 'scripted' }, parts })
  await eventually(() => resultsIn(tail.events).length === 2)
  assert.match(resultsIn(tail.events)[1]?.text ?? '', /looked/)
  tail.close()
})
