import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { scriptedModel } from '../../../../test/support/sessions/scripted-model.ts'
import type { NewEvent } from '../../../contract/events.ts'
import { createLog } from '../../platform/log.ts'
import type { RunTool } from '../../tools/tool-source.ts'
import { type Decision, partsOf, type RunContext } from '../runtime.ts'
import type { OpenToolUse } from './conversation.ts'
import { builtinRuntime } from './runtime.ts'
import { callOf, runToolCalls } from './tool-calls.ts'

/** Tools that record their start and end, some passes of the event loop apart. */
function notingTools(notes: string[]) {
  let atOnce = 0
  let most = 0
  const tool = (name: string, reads: boolean): [string, RunTool] => {
    const call = async (input: unknown) => {
      const { id } = input as { id: string }
      notes.push(`${id} begins`)
      most = Math.max(most, ++atOnce)
      for (let pass = 0; pass < 5; pass++) await new Promise(setImmediate)
      atOnce--
      notes.push(`${id} ends`)
      return { content: [{ type: 'text' as const, text: id }], is_error: false }
    }
    const inputSchema = { type: 'object' }
    return [name, { name, description: name, inputSchema, policy: 'allow', idempotent: reads, reads, call }]
  }
  // As tools of two sources: their order holds over all of them.
  const tools = { byName: new Map([tool('read', true), tool('write', false)]), failures: [] }
  return { tools, most: () => most }
}

const callContext = {
  signal: new AbortController().signal,
  limits: { resultChars: 1_000, previewChars: 1_000 },
  log: createLog('silent'),
}

const useOf = (name: string, at: number): OpenToolUse => ({
  tool_use_id: `toolu_${at}`,
  name,
  input: { id: `${name}${at}` },
  permission: 'allow',
  eventId: undefined,
})

async function runAll(names: readonly string[]) {
  const notes: string[] = []
  const { tools, most } = notingTools(notes)
  for await (const _ of runToolCalls(names.map(useOf), tools, callContext));
  return { notes, most: most() }
}

test('R4: calls that change something run one after the other, in the order of the model', async () => {
  const { notes, most } = await runAll(['write', 'write', 'write'])
  assert.deepEqual(
    notes,
    [0, 1, 2].flatMap(at => [`write${at} begins`, `write${at} ends`]),
  )
  assert.equal(most, 1)
})

test('R4: reads run concurrently, after the preceding change and before the next one', async () => {
  const { notes, most } = await runAll(['write', 'read', 'read', 'read', 'write', 'read'])
  assert.deepEqual(notes.slice(0, 2), ['write0 begins', 'write0 ends'])
  assert.deepEqual(notes.slice(2, 5), ['read1 begins', 'read2 begins', 'read3 begins'])
  assert.deepEqual(notes.slice(8), ['write4 begins', 'write4 ends', 'read5 begins', 'read5 ends'])
  assert.equal(most, 3)
})

test('a tool that throws gives an error result for its own call only', async () => {
  const { tools } = notingTools([])
  const read = tools.byName.get('read') ?? assert.fail()
  const broken = {
    ...read,
    name: 'broken',
    call: async () => {
      throw new Error('a secret of the server')
    },
  }
  const both = {
    byName: new Map([...tools.byName, ['broken', broken]]),
    failures: ['the tools of wiki cannot be listed'],
  }
  const results = new Map<string, string>()
  for await (const result of runToolCalls(['broken', 'read', 'unknown'].map(useOf), both, callContext))
    results.set(callOf(result), `${result.is_error} ${JSON.stringify(result.content)}`)
  assert.match(results.get('toolu_0') ?? '', /^true .*tool failed: internal error of the server/)
  assert.match(results.get('toolu_1') ?? '', /^false .*read1/)
  assert.match(results.get('toolu_2') ?? '', /^true .*tool unknown does not exist.*the tools of wiki cannot be listed/)
})

test('R4: at most eight reads run at the same time', async () => {
  const { notes, most } = await runAll(Array.from({ length: 20 }, () => 'read'))
  assert.deepEqual([notes.length, most], [40, 8])
})

const calls = [
  { type: 'tool_use' as const, id: 'toolu_a', name: 'write', input: { file_path: 'a.py', content: 'print(1)' } },
  { type: 'tool_use' as const, id: 'toolu_b', name: 'bash', input: { command: 'python a.py' } },
  { type: 'tool_use' as const, id: 'toolu_c', name: 'read', input: { file_path: 'other' } },
]

const gateway = scriptedModel(at => (at === 0 ? calls : [{ type: 'text', text: 'done' }]))

const asking = { ...session, tools: [{ type: 'write', permission_policy: 'ask' }, { type: 'bash' }, { type: 'read' }] }
const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }

async function runOn(log: readonly NewEvent[], commands: string[], changes: Partial<RunContext>) {
  const stored = [...log]
  for await (const batch of builtinRuntime({ gateway, ...rigOver(commands) }).run(
    asking,
    prompt,
    contextOver(log, changes),
  ))
    stored.push(...partsOf(batch).events.map((event, at) => ({ id: `evt_${stored.length + at}`, ...event })))
  return stored
}

const resultsOf = (log: readonly NewEvent[]) =>
  log.filter(({ type }) => type === 'agent.tool_result').map(event => event.tool_use_id)
const deny = async (): Promise<Decision> => ({ result: 'deny', message: undefined })

test('R4: a command after a write that asks waits for the answer, also across a change of owner', async () => {
  const commands: string[] = []
  const open = await runOn([asked], commands, { decision: async () => undefined })
  assert.deepEqual([resultsOf(open), commands], [['toolu_c'], []])
  const log = await runOn(open, commands, { decision: deny })
  assert.deepEqual(resultsOf(log), ['toolu_c', 'toolu_a', 'toolu_b'])
  assert.deepEqual([commands, log.at(-1)?.type], [['python a.py'], 'session.status_idle'])
})

test('R4: a run that is stopped while it asks gives every waiting call a result and runs none', async () => {
  const commands: string[] = []
  const open = await runOn([asked], commands, { decision: async () => undefined })
  const stopped = await runOn(open, commands, { signal: AbortSignal.abort() })
  assert.deepEqual([resultsOf(stopped).toSorted(), commands], [['toolu_a', 'toolu_b', 'toolu_c'], []])
})
