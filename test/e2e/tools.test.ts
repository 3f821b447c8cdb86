import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { AgentRuntime } from '../../src/contract/runtimes.ts'
import type { Session } from '../../src/contract/sessions.ts'
import type { ToolGroup } from '../../src/contract/tool-usage.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { toolSession } from '../support/sessions/tool-session.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const pages = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<title>A page</title><p>The number is 17.')
})
await new Promise<void>(resolve => pages.listen(0, '127.0.0.1', resolve))
const upstream = await startScriptedUpstream()
after(async () => {
  pages.close()
  await upstream.stop()
})
const pagePort = (pages.address() as AddressInfo).port

const modelOf = (name: string, capabilities: object) => ({
  model_name: name,
  params: { model: `anthropic/${name}`, api_base: upstream.url, api_key: 'sk-upstream', capabilities },
})
const service = await startService({
  config: JSON.stringify({
    model_list: [modelOf('scripted', { vision: true, pdf_input: true }), modelOf('blind', {})],
    outbound: { allow: [`127.0.0.1:${upstream.port}`, `127.0.0.1:${pagePort}`] },
    limits: { tool_result_chars: 2000, tool_preview_chars: 200 },
  }),
})

const post = async <T>(line: string, body: object): Promise<T> => {
  const answer = await send(service, line, { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.json<T>()
}

test('a background job runs beside its run only: the next run reports that it is gone', async () => {
  const session = await toolSession(service)
  const [started = ''] = await session.run({ name: 'bash', input: { command: 'sleep 1000', run_in_background: true } })
  const job_id = /^\{"job_id":"(job_\w+)"\}/.exec(started)?.[1]
  assert.ok(job_id, started)
  const [gone = ''] = await session.run({ name: 'bash_output', input: { job_id } })
  assert.match(gone, /is not a job of this run: the end of a run, an interrupt, a wait for a person and a crash/)
})

test('an image reaches a model that reads images, and a later model that does not gets a text', async () => {
  const session = await toolSession(service)
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const [, described = ''] = await session.run(
    { name: 'bash', input: { command: `echo ${png} | base64 -d > a.png` } },
    { name: 'read', input: { file_path: 'a.png' } },
  )
  assert.match(described, /^a\.png: image\/png, 1x1 pixels, 70 bytes/)
  assert.ok(upstream.requests.at(-1)?.rawBody.includes(`"media_type":"image/png","data":"${png}"`))
  const parts = [{ type: 'text', text: saying({ text: 'seen' }) }]
  await post(`POST /session/${session.id}/message`, { model: { modelID: 'blind' }, parts })
  const last = upstream.requests.at(-1)?.rawBody.toString() ?? ''
  assert.ok(last.includes('a.png: image/png') && last.includes('a file that this model does not read'))
  assert.ok(!last.includes('"media_type"'))
})

test('a long result is a file of the workspace, and its start and end are in the log', async () => {
  const session = await toolSession(service)
  const [text = ''] = await session.run({ name: 'bash', input: { command: 'seq 1 5000' } })
  const path = /^\[the whole output is in (\.outputs\/\w+\.txt) \(\d+ characters\)/.exec(text)?.[1]
  assert.ok(path && text.length < 500 && text.endsWith('\n5000'), text)
  const [line = ''] = await session.run({ name: 'read', input: { file_path: path, offset: 4321, limit: 1 } })
  assert.equal(line, '  4321\t4321\n[lines 4321 to 4321 of 5000]')
})

test('the list of tasks is in the log as the input of its call, and as text', async () => {
  const session = await toolSession(service)
  const todos = [
    { content: 'plan', status: 'completed' },
    { content: 'build', status: 'in_progress' },
  ]
  assert.deepEqual(await session.run({ name: 'todo_write', input: { todos } }), ['[x] plan\n[~] build'])
  const page = await send(service, `GET /v1/sessions/${session.id}/events?types=agent.tool_use`)
  assert.deepEqual(page.json<{ data: SessionEvent[] }>().data[0]?.['input'], { todos })
})

test('web_fetch works for an agent that names it, and does not exist for another', async () => {
  const url = `http://127.0.0.1:${pagePort}/page`
  const resultFor = async (tools: object[]) => {
    const fields = { name: 'Reader', owner_id: 'team', model: 'scripted', tools }
    const { id: agent_id } = await post<Agent>('POST /api/agents', fields)
    const { id } = await post<Session>('POST /session', { agent_id })
    const answers = saying({ tool_calls: [{ name: 'web_fetch', input: { url } }] }, {})
    await post(`POST /session/${id}/message`, {
      parts: [{ type: 'text', text: answers }],
      model: { modelID: 'scripted' },
    })
    const page = await send(service, `GET /v1/sessions/${id}/events?types=agent.tool_result`)
    return JSON.stringify(page.json<{ data: SessionEvent[] }>().data[0]?.['content'])
  }
  const toolset = { type: 'agent_toolset_20260401', default_config: { enabled: true } }
  assert.match(await resultFor([toolset, { type: 'web_fetch' }]), /# A page.*The number is 17\./)
  assert.match(await resultFor([toolset]), /tool web_fetch does not exist/)
})

test('without a search provider web_search does not exist, and an agent that names it is 400', async () => {
  const fields = { name: 'Searcher', owner_id: 'team', tools: [{ type: 'web_search' }] }
  const answer = await send(service, 'POST /api/agents', { body: fields })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /tools\[0\] names web_search, but this server has no search provider; set web_search in/)
  const { runtimes } = (await send(service, 'GET /api/agent-runtimes')).json<{ runtimes: AgentRuntime[] }>()
  const enabled = new Map(
    runtimes.find(({ id }) => id === 'builtin')?.tools.map(tool => [tool.id, tool.enabled_by_default]),
  )
  assert.deepEqual(
    ['bash', 'todo_write', 'web_fetch', 'web_search'].map(name => enabled.get(name)),
    [true, true, false, undefined],
  )
})

test('the calls of a session are in the report on tools, with their time', async () => {
  const session = await toolSession(service)
  await session.run({ name: 'bash', input: { command: 'sleep 0.2' } })
  await session.run({ name: 'read', input: { file_path: 'nothing.txt' } })
  const groups = await eventually(async () => {
    const answer = await send(service, `GET /api/usage/tools?session_id=${session.id}`)
    const report = answer.json<{ groups: ToolGroup[] }>()
    return report.groups.length === 2 && report.groups
  })
  const shown = groups.map(({ by, calls, failed_calls }) => [by['tool'], calls, failed_calls]).sort()
  assert.deepEqual(shown, [
    ['bash', 1, 0],
    ['read', 1, 1],
  ])
  assert.ok((groups.find(({ by }) => by['tool'] === 'bash')?.total_ms ?? 0) >= 200)
})
