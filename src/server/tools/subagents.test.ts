import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RunSubagents, type SubagentCall, subagentEntries, subagentNames, subagentSource } from './subagents.ts'
import { isAwaitedTool } from './tool-source.ts'

const named = (...names: readonly string[]) => names.map((name, at) => ({ id: `agent_00000${at}`, name }))

test('tools are named for their agents; equal names get the end of the id', () => {
  const names = (...given: readonly string[]) => [...subagentNames(named(...given)).values()]
  assert.deepEqual(names('Planner', 'Größe & Co.'), ['agent__planner', 'agent__gro_e_co'])
  assert.deepEqual(names('A b', 'a-B', 'c'), ['agent__a_b_000000', 'agent__a_b_000001', 'agent__c'])
  assert.deepEqual(names('日本'), ['agent__agent'])
  for (const name of names('x'.repeat(500), '-- --')) assert.match(name, /^[a-z0-9_]{8,64}$/)
})

test('a string is short for an entry; invalid entries of older releases are skipped', () => {
  const all = { version: undefined, maxParallel: 4, budgetShare: undefined, policy: 'allow' } as const
  assert.deepEqual(
    subagentEntries({
      agents: ['a', { agent_id: 'b', version: 2, budget_share: 0.5, permission_policy: 'always_ask' }],
    }),
    [
      { ...all, agentId: 'a' },
      { ...all, agentId: 'b', version: 2, budgetShare: 0.5, policy: 'ask' },
    ],
  )
  for (const agents of [undefined, null, 'a', [3], [{ agent_id: 'a', max_parallel: 9 }]])
    assert.deepEqual(subagentEntries({ agents }), [])
})

test('a source lists the agents that exist, and calls without a result under the name that they were made with', async () => {
  const [one, two] = subagentEntries({ agents: ['agent_000000', 'agent_gone'] })
  assert.ok(one && two)
  const open: SubagentCall = { entry: two, name: 'agent__old_name', agentName: 'Old name' }
  const asked: string[] = []
  const subagents: RunSubagents = {
    agents: async () => named('New name').map(agent => ({ ...agent, description: 'Knows all.' })),
    open: async () => [open],
    async end(eventId, call) {
      asked.push(`${eventId} ${call.name}`)
      return undefined
    },
  }
  const tools = await subagentSource([one, two], subagents).list(new AbortController().signal, () => undefined)
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['agent__new_name', 'agent__old_name'],
  )
  assert.match(tools[0]?.description ?? '', /"New name".*Knows all\./)
  for (const tool of tools) if (isAwaitedTool(tool)) assert.equal(await tool.result('evt_1'), undefined)
  assert.deepEqual(asked, ['evt_1 agent__new_name', 'evt_1 agent__old_name'])
})
