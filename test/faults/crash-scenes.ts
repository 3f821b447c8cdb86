import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Approval } from '../../src/contract/approvals.ts'
import { awaitedApprovals, type SessionEvent } from '../../src/contract/events.ts'
import { crashAtEveryWrite, type Scene } from './crash-at-write.ts'
import type { FaultCase } from './fault-case.ts'
import { sendOnce } from './single-connection.ts'
import type { Site } from './site.ts'
import { scriptedText } from './upstream.ts'

/** A conversation that fills a small window: the next prompt has it compacted before it is answered. */
const fullWindow: Scene = {
  model: { capabilities: { context_window: 8_000 } },
  before: key => scriptedText(key, [{ text: 'much was said '.repeat(300), usage: { input_tokens: 7_000 } }]),
}

/** Every tool call waits for a person: the run parks, and somebody allows what is asked as soon as it can be seen. */
const asking: Scene = {
  async session(site) {
    const tools = [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }]
    const body = { name: 'Careful', owner_id: 'team', model: 'scripted', tools }
    const answer = await sendOnce(site, 'POST /api/agents', { body })
    return { agent_id: answer.json<{ id: string }>().id }
  },
  beside: allowAll,
  check(log) {
    const asked = log.filter(({ stop_reason }) => (stop_reason as { type?: string } | null)?.type === 'requires_action')
    const answered = log.filter(({ type }) => type === 'user.tool_confirmation')
    assert.deepEqual([asked.length, answered.length], [1, 1], 'one question and one answer per call')
  },
}

/** Allows what waits. An answer that was stored without a response is rejected the second time. */
async function allowAll(site: Site, sessionId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const found = await sendOnce(site, `GET /api/approvals?session_id=${sessionId}&state=pending`).catch(
      () => undefined,
    )
    const open = found?.status === 200 ? found.json<{ approvals: Approval[] }>().approvals : []
    for (const { id, digest } of open) {
      const answer = await sendOnce(site, `POST /api/approvals/${id}`, { body: { result: 'allow', digest } }).catch(
        () => undefined,
      )
      assert.ok([undefined, 200, 409, 503].includes(answer?.status), answer?.text)
    }
    await sleep(50)
  }
}

/** A client runs a tool: the run parks until the client answers, and a command after it waits as well. */
const calling: Scene = {
  async session(site) {
    const ring = { type: 'custom', name: 'ring', description: 'Rings', input_schema: { type: 'object' } }
    const body = { name: 'Caller', owner_id: 'team', model: 'scripted', tools: [ring, { type: 'bash' }] }
    const answer = await sendOnce(site, 'POST /api/agents', { body })
    return { agent_id: answer.json<{ id: string }>().id }
  },
  prompt: key =>
    scriptedText(key, [
      {
        tool_calls: [
          { name: 'ring', input: { key } },
          { name: 'bash', input: { command: `echo ${key} >> ran.txt` } },
        ],
      },
      { text: `done ${key}` },
    ]),
  beside: answerAll,
  check(log) {
    const called = log.filter(({ type }) => type === 'agent.custom_tool_use')
    const answered = log.filter(({ type }) => type === 'user.custom_tool_result')
    assert.deepEqual([called.length, answered.length], [1, 1], 'one call and one answer')
  },
}

/** Answers the calls that the session requests results for. An answer without a response is sent again. */
async function answerAll(site: Site, sessionId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const path = `GET /v1/sessions/${sessionId}/events?types=session.status_idle`
    const found = await sendOnce(site, path).catch(() => undefined)
    const idle = found?.status === 200 ? found.json<{ data: SessionEvent[] }>().data : []
    for (const id of idle.flatMap(awaitedApprovals)) {
      const body = { content: [{ type: 'text', text: 'rung' }] }
      const answer = await sendOnce(site, `POST /api/custom-tool-calls/${id}`, { body }).catch(() => undefined)
      assert.ok([undefined, 200, 503].includes(answer?.status), answer?.text)
    }
    await sleep(50)
  }
}

/** A planner gives two workers a task each, in one turn: the run parks until their sessions have ended. */
const delegating: Scene = {
  model: { input_cost_per_token: 0.000001, output_cost_per_token: 0.000001 },
  async session(site) {
    const newAgent = async (name: string, config: object) => {
      const body = { name, owner_id: 'team', model: 'scripted', tools: [{ type: 'bash' }], config }
      return (await sendOnce(site, 'POST /api/agents', { body })).json<{ id: string }>().id
    }
    const workers = [await newAgent('Reader', {}), await newAgent('Writer', {})]
    return { agent_id: await newAgent('Planner', { agents: workers, session_max_budget: 1 }) }
  },
  prompt: key =>
    scriptedText(key, [
      {
        tool_calls: ['reader', 'writer'].map(name => ({
          name: `agent__${name}`,
          input: { prompt: scriptedText(`${key}-${name}`, [{ text: `${name} done` }]) },
        })),
      },
      { text: `done ${key}` },
    ]),
  check(log) {
    const results = log.filter(({ type }) => type === 'agent.tool_result').map(textOf)
    assert.deepEqual(results, ['reader done', 'writer done'], 'each worker is called once')
    assert.equal(log.filter(({ type }) => type === 'session.thread_created').length, 2, 'and has one session')
    assert.equal(log.filter(({ type }) => type === 'agent.thread_message_received').length, 2, 'with one answer')
  },
}

/** A machine whose disk goes with it: what is there afterwards came from the checkpoints. */
const anotherDisk: Scene = {
  prompt: key =>
    scriptedText(key, [
      {
        tool_calls: [
          { name: 'bash', input: { command: `echo ${key} >> ran.txt; mkdir -p d && echo one > d/one.txt` } },
        ],
      },
      { tool_calls: [{ name: 'bash', input: { command: `echo ${key}-more >> ran.txt; cat ran.txt d/one.txt` } }] },
      { text: `done ${key}` },
    ]),
  between: (site, sessionId) => rm(join(site.dataDir, 'workspaces', sessionId), { recursive: true, force: true }),
  check(log, key) {
    const [first, second] = log.filter(({ type }) => type === 'agent.tool_result')
    if (isUnknown(first) || isUnknown(second)) return
    assert.equal(textOf(second).trim(), `${key}\n${key}-more\none`, 'the second call finds what the first one wrote')
  },
}

const textOf = (event: SessionEvent | undefined): string =>
  ((event?.content ?? []) as { readonly text?: string }[]).map(({ text = '' }) => text).join('')

const isUnknown = (event: SessionEvent | undefined): boolean => textOf(event).includes('outcome unknown')

/** F03. */
export const crashCases: readonly FaultCase[] = [
  {
    id: 'F03',
    title: 'a crash before and after each database write of one prompt with a tool call',
    run: bench => crashAtEveryWrite(bench),
  },
  {
    id: 'F03-compaction',
    title: 'the same, with a prompt before which the conversation is compacted',
    run: bench => crashAtEveryWrite(bench, fullWindow),
  },
  {
    id: 'F03-waits',
    title: 'the same, with a tool call for which the run parks until a person allows it',
    run: bench => crashAtEveryWrite(bench, asking),
  },
  {
    id: 'F03-custom-tools',
    title: 'the same, with a custom tool for which the run parks until a client answers it',
    run: bench => crashAtEveryWrite(bench, calling),
  },
  {
    id: 'F03-agents',
    title: 'the same, with two calls of agents for which the run parks until their sessions have ended',
    run: bench => crashAtEveryWrite(bench, delegating),
  },
  {
    id: 'F03-checkpoints',
    title: 'the same, with two tool calls that write files, on a machine whose disk is lost with it',
    run: bench => crashAtEveryWrite(bench, anotherDisk),
  },
]
