import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { failureResult } from '../../tools/tool.ts'
import type { CallableTool } from '../../tools/tool-source.ts'
import { createStoredToolList } from './stored-tool-list.ts'

const custom = (name: string) => ({ type: 'custom', name, description: 'custom', input_schema: { type: 'object' } })
const ofServer = (name: string): CallableTool => ({
  ...{ name, description: 'of a server', inputSchema: { type: 'object' }, policy: 'ask', reads: false },
  ...{ idempotent: false, mcp: { server: 'tickets', tool: name } },
  call: async () => failureResult('not called'),
})

test('the stored list has the order of a run: of two tools with one name, the server has its own, not the front-end', async () => {
  const rig = rigOver([])
  const stored = async () => ({ tools: [ofServer('list'), ofServer('both')], notes: ['one is missing'] })
  const toolsOf = createStoredToolList({
    ...rig,
    gateway: { call: () => assert.fail(), echoes: () => assert.fail() },
    mcp: { ...rig.mcp, stored },
  })
  const prompt = { model: 'demo', system: null, output_schema: null }
  const frontEnd = { tools: [custom('open_page'), custom('both')], text: '', state: undefined }
  const agent = { ...session, tools: [{ type: 'bash' }, custom('ring')] }
  const notes: string[] = []
  const request = { prompt, agents: undefined, payer: { principal: 'ada', key: undefined }, frontEnd }
  const { byName } = await toolsOf(agent, request, notes)
  assert.deepEqual(
    [...byName.keys()].filter(name => !name.startsWith('bash')),
    ['ring', 'list', 'both', 'open_page'],
  )
  assert.equal(byName.get('both')?.description, 'of a server')
  assert.deepEqual(notes, ['one is missing'])

  const late: string[] = []
  await toolsOf(agent, { ...request, payer: undefined }, late)
  assert.match(late.join(), /key of the prompt was revoked/)
})
