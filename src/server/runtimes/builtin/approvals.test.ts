import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { scriptedModel } from '../../../../test/support/sessions/scripted-model.ts'
import { awaitedApprovals, type NewEvent } from '../../../contract/events.ts'
import { type Decision, partsOf, type RunContext } from '../runtime.ts'
import { builtinRuntime } from './runtime.ts'

const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }
const careful = { ...session, tools: [{ type: 'bash', permission_policy: 'ask' }] }

/** A model that runs one command, then is done. */
const gateway = scriptedModel(at => [
  at === 0
    ? { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'the command' } }
    : { type: 'text', text: 'done' },
])

/** Runs on `log` until `batches` were stored; returns the log with ids. */
async function runOn(log: readonly NewEvent[], ran: string[], changes: Partial<RunContext>, batches = Infinity) {
  const stored = [...log]
  let left = batches
  for await (const batch of builtinRuntime({ gateway, ...rigOver(ran) }).run(
    careful,
    prompt,
    contextOver(log, changes),
  )) {
    if (left-- <= 0) break
    stored.push(...partsOf(batch).events.map((event, at) => ({ id: `evt_${stored.length + at}`, ...event })))
  }
  return stored
}

const allow = async (): Promise<Decision> => ({ result: 'allow', message: undefined })
const resultsOf = (log: readonly NewEvent[]) => log.filter(({ type }) => type === 'agent.tool_result')

test('a run that is interrupted at any batch asks once, runs the tool at most once, and has one result', async () => {
  const whole = await runOn([asked], [], { decision: allow })
  assert.equal(whole.at(-1)?.type, 'session.status_idle')
  for (let cut = 0; cut < 8; cut++) {
    const ran: string[] = []
    let spent = 0
    const changes = { decision: allow, claimToolCall: async () => spent++ === 0 }
    const first = await runOn([asked], ran, changes, cut)
    const log = await runOn(first, ran, changes)
    assert.equal(log.flatMap(awaitedApprovals).length, 1, `cut after ${cut} batches`)
    assert.equal(resultsOf(log).length, 1)
    assert.ok(ran.length <= 1, `it ran ${ran.length} times`)
    assert.equal(log.at(-1)?.type, 'session.status_idle')
  }
})

test('a run that is handed over while it asks ends without a last event and leaves the question open', async () => {
  const log = await runOn([asked], [], { decision: async () => undefined })
  assert.equal(log.flatMap(awaitedApprovals).length, 1)
  assert.deepEqual(resultsOf(log), [])
})

test('a call that an earlier owner had started is not run again', async () => {
  const ran: string[] = []
  const waiting = await runOn([asked], ran, { decision: async () => undefined })
  const log = await runOn(waiting, ran, { decision: allow, claimToolCall: async () => false })
  assert.deepEqual(ran, [])
  assert.match(JSON.stringify(resultsOf(log)), /outcome unknown/)
})

test('a question about a tool of an MCP server that fails meanwhile stays open; the approved call then fails', async () => {
  const use: NewEvent = {
    id: 'evt_use',
    type: 'agent.mcp_tool_use',
    tool_use_id: 'toolu_1',
    name: 'look',
    mcp_server_name: 'wiki',
    input: {},
    evaluated_permission: 'ask',
  }
  const begun: NewEvent = { id: 'evt_start', type: 'span.model_request_start', prompt_ids: [prompt.id] }
  const waiting = [asked, begun, use, { type: 'span.model_request_end', model_request_start_id: 'evt_start' } as const]
  const open = await runOn(waiting, [], { decision: async () => undefined })
  assert.deepEqual(open.flatMap(awaitedApprovals), ['evt_use'])
  assert.ok(open.every(({ type }) => type !== 'agent.mcp_tool_result'))
  const log = await runOn(open, [], { decision: allow })
  const results = log.filter(({ type }) => type === 'agent.mcp_tool_result')
  assert.deepEqual(
    results.map(({ mcp_tool_use_id, is_error }) => [mcp_tool_use_id, is_error]),
    [['toolu_1', true]],
  )
  assert.match(JSON.stringify(results), /wiki__look does not exist/)
})
