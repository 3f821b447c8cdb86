import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Memory } from '../../src/contract/memories.ts'
import { clientProgram } from '../support/service/client-program.ts'
import { send } from '../support/service/send.ts'
import { markerScript } from '../support/upstream/marker-script.ts'
import { saying, startScriptedService } from '../support/upstream/scripted-service.ts'
import type { Recorded } from '../support/upstream/scripted-upstream.ts'

const claudeCode = await clientProgram('Claude Code')
const saveTool = 'mcp__memory__save_memory'
const isTurn = ({ rawBody }: Recorded) => rawBody.includes(saveTool)

// Its side questions, such as for a title, offer no tools.
const { service, upstream } = await startScriptedService({
  script: request => (isTurn(request) ? markerScript(request) : { text: 'ok' }),
})

test('Claude Code saves a memory through the MCP server, and a session of the agent starts with it', async () => {
  const made = await send(service, 'POST /api/agents', { body: { name: 'A', owner_id: 'team' } })
  const { id } = made.json<Agent>()
  const path = `/api/v1/managed_agents/agents/${id}`
  const memory = { type: 'http', url: `${service.url}${path}/mcp`, headers: { Authorization: `Bearer ${service.key}` } }
  const saves = { tool_calls: [{ name: saveTool, input: { text: 'Claude Code was here' } }] }
  const { code, stdout, stderr } = await claudeCode.run({
    args: [
      ...['-p', `Do what this says: ${saying(saves, { text: 'Saved.' })}`],
      ...['--model', 'scripted'],
      ...['--mcp-config', JSON.stringify({ mcpServers: { memory } })],
      ...['--strict-mcp-config', '--allowedTools', saveTool],
    ],
    env: {
      ANTHROPIC_BASE_URL: service.url,
      ANTHROPIC_API_KEY: service.key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  })
  assert.equal(code, 0, `${stdout}\n${stderr}`)
  assert.match(stdout, /Saved\./)
  const [saved] = (await send(service, `GET ${path}/memory`)).json<Memory[]>()
  assert.deepEqual([saved?.text, saved?.source], ['Claude Code was here', 'agent'])

  const session = await send(service, 'POST /session', { body: { agent_id: id } })
  const parts = [{ type: 'text', text: 'hello' }]
  await send(service, `POST /session/${session.json<{ id: string }>().id}/message`, {
    body: { model: { modelID: 'scripted' }, parts },
  })
  assert.match(JSON.stringify(upstream.requests.at(-1)?.body['system']), /Claude Code was here/)
})
