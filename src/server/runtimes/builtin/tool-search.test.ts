import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { scriptedModel } from '../../../../test/support/sessions/scripted-model.ts'
import type { NewEvent } from '../../../contract/events.ts'
import type { CallableTool, ToolSource } from '../../tools/tool-source.ts'
import { type Decision, partsOf, type RunContext } from '../runtime.ts'
import { Conversation } from './conversation.ts'
import { builtinRuntime } from './runtime.ts'

const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly tools: readonly { readonly name: string }[]
}

/** A model that makes one call per turn, then is done, and the tool names of its requests. */
function modelOf(calls: readonly (readonly [name: string, input: object])[]) {
  const gateway = scriptedModel<Body>(at => {
    const [name, input] = calls[at] ?? []
    return name && input ? [{ type: 'tool_use', id: `toolu_${at}`, name, input }] : [{ type: 'text', text: 'done' }]
  })
  /** MCP tools and the search in each request. */
  const shown = () =>
    gateway.bodies.map(({ tools }) => tools.map(({ name }) => name).filter(name => /__|search_tools/.test(name)))
  return { gateway, shown }
}

/** A server with `count` tools, of which one creates issues and one is denied. */
function wiki(count: number, called: string[], changes: Partial<CallableTool> = {}): ToolSource {
  const names = ['create_issue', 'secret_issue', ...Array.from({ length: count - 2 }, (_, at) => `t${at}`)]
  return {
    name: 'MCP server wiki',
    list: async () =>
      names.map(name => ({
        name: `wiki__${name}`,
        description: `Does ${name}`,
        inputSchema: { type: 'object' },
        policy: name === 'secret_issue' ? 'deny' : 'allow',
        reads: false,
        idempotent: true,
        mcp: { server: 'wiki', tool: name },
        async call() {
          called.push(name)
          return { content: [{ type: 'text', text: 'ok' }], is_error: false }
        },
        ...(name === 'create_issue' && changes),
      })),
  }
}

interface Run {
  readonly model: ReturnType<typeof modelOf>
  readonly source: ToolSource
  readonly batches?: number
  readonly changes?: Partial<RunContext>
}

/** Runs on `log` until `batches` were stored, as a process that is then killed; returns the log with ids. */
async function runOn(log: readonly NewEvent[], { model, source, batches = Infinity, changes = {} }: Run) {
  const stored = [...log]
  let left = batches
  const rig = rigOver([])
  const runtime = builtinRuntime({ gateway: model.gateway, ...rig, mcp: { ...rig.mcp, sources: () => [source] } })
  for await (const batch of runtime.run(session, prompt, contextOver(log, changes))) {
    if (left-- <= 0) break
    stored.push(...partsOf(batch).events.map((event, at) => ({ id: `evt_${stored.length + at}`, ...event })))
  }
  return stored
}

const search = ['search_tools', { query: 'issue' }] as const

test('below 60 MCP tools the model sees all of them that are not denied', async () => {
  const model = modelOf([])
  await runOn([asked], { model, source: wiki(60, []) })
  assert.equal(model.shown()[0]?.length, 59)
  assert.ok(!model.shown()[0]?.includes('search_tools'))
})

test('from 60 MCP tools on the model sees a search, then what it has found or called, and the list only grows', async () => {
  const model = modelOf([search, ['wiki__create_issue', {}], ['wiki__t5', {}], ['wiki__none', {}]])
  const called: string[] = []
  const log = await runOn([asked], { model, source: wiki(61, called) })
  assert.deepEqual(called, ['create_issue', 't5'])
  assert.deepEqual(model.shown(), [
    ['search_tools'],
    ['search_tools', 'wiki__create_issue'],
    ['search_tools', 'wiki__create_issue'],
    ['search_tools', 'wiki__create_issue', 'wiki__t5'],
    ['search_tools', 'wiki__create_issue', 'wiki__t5'],
  ])
  const results = log.flatMap(({ type, content }) => (type === 'agent.tool_result' ? [JSON.stringify(content)] : []))
  assert.match(results[0] ?? '', /wiki__create_issue.*Does create_issue/)
  assert.doesNotMatch(results[0] ?? '', /secret_issue/)
  assert.match(results[1] ?? '', /wiki__none does not exist; .*search_tools, and those that search_tools finds/)
  assert.doesNotMatch(results[1] ?? '', /wiki__t7/)
})

test('a run that is interrupted at any batch shows the model the same tools', async () => {
  const calls = [search, ['wiki__create_issue', {}], ['wiki__t5', {}]] as const
  const whole = modelOf(calls)
  await runOn([asked], { model: whole, source: wiki(70, []) })
  for (let batches = 0; batches < 10; batches++) {
    const first = await runOn([asked], { model: modelOf(calls), source: wiki(70, []), batches })
    const model = modelOf(calls)
    const log = await runOn(first, { model, source: wiki(70, []) })
    assert.equal(log.at(-1)?.type, 'session.status_idle')
    const shown = model.shown()
    assert.deepEqual(shown, whole.shown().slice(-shown.length), `cut after ${batches} batches`)
  }
})

test('the policy of a found tool holds: it asks a person, and a denied tool is not run', async () => {
  const calls = [search, ['wiki__create_issue', { title: 'a' }], ['wiki__secret_issue', {}]] as const
  const called: string[] = []
  const asks = wiki(70, called, { policy: 'ask' })
  const parked = await runOn([asked], { model: modelOf(calls), source: asks })
  assert.equal(parked.at(-1)?.stop_reason?.type, 'requires_action')
  assert.deepEqual(called, [])
  const decision = async (): Promise<Decision> => ({ result: 'allow', message: undefined })
  const log = await runOn(parked, { model: modelOf(calls), source: asks, changes: { decision } })
  assert.deepEqual(called, ['create_issue'])
  const last = log.findLast(({ type }) => type === 'agent.mcp_tool_result')
  assert.deepEqual([last?.is_error, /does not allow/.test(JSON.stringify(last?.content))], [true, true])
})

test('a compaction keeps what the model has found, in its order, and the oldest of too many are dropped', () => {
  const found = (at: number, names: readonly string[]): NewEvent[] => [
    { type: 'agent.tool_use', tool_use_id: `t${at}`, name: 'search_tools', input: {} },
    {
      type: 'agent.tool_result',
      tool_use_id: `t${at}`,
      content: [{ type: 'text', text: JSON.stringify({ tools: names.map(name => ({ name })) }) }],
    },
  ]
  const compaction: NewEvent = {
    type: 'agent.thread_context_compacted',
    ...{ summary: 's', kept_from_seq: 5, waiting_seqs: [], prompt_ids: [], tokens_before: 1, tokens_after: 1 },
    reason: 'auto',
    found_tools: ['a__1', 'b__1', 'b__2'],
  }
  const conversationOf = (events: readonly NewEvent[]) => {
    const conversation = new Conversation()
    for (const event of events) conversation.add(event)
    return conversation
  }
  const kept = [...found(2, ['b__1', 'b__2']), compaction, ...found(3, ['a__1', 'c__1'])]
  for (const events of [kept, [...found(1, ['a__1']), ...kept]])
    assert.deepEqual(conversationOf(events).foundTools, ['a__1', 'b__1', 'b__2', 'c__1'])
  const many = Array.from({ length: 70 }, (_, at) => `d__${at}`)
  const all = conversationOf([...kept, ...found(4, many)])
  assert.deepEqual(all.foundTools, many.slice(-64))
  assert.deepEqual(all.copy().foundTools, all.foundTools)
})
