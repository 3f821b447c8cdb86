import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endsRun, type SessionEvent } from '../../src/contract/events.ts'
import type { BenchCase, Figure } from '../bench-case.ts'
import { createAgent, createSession, sendPrompt, succeeded } from '../demo-session.ts'
import { followSession } from '../event-feed.ts'
import { type Inside, insideCounter } from '../inside.ts'
import { residentMib } from '../process-figures.ts'
import { type Server, startServer } from '../server.ts'
import { median, rounded } from '../statistics.ts'
import { startUpstream } from '../upstream/upstream.ts'

/**
 * Sessions that wait: a third for an approval each, a third for the session of an agent that they have called, and those
 * sessions for the result of a custom tool.
 */
const sessions = 1_000
const perKind = Math.floor(sessions / 3)
/** Fewer than the sessions that wait: a waiting session must not occupy a place. */
const places = 10
const restMs = 30_000
const probes = 9
const MiB = 1024 * 1024

const toolName = 'ring'
const frame = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
/** A model that calls this tool and says nothing. */
const modelThatCalls = (name: string, input: object): string =>
  [
    frame({
      type: 'message_start',
      message: {
        id: 'msg_01',
        type: 'message',
        role: 'assistant',
        model: 'bench',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    }),
    frame({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'toolu_1', name, input: {} },
    }),
    frame({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    }),
    frame({ type: 'content_block_stop', index: 0 }),
    frame({
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 9 },
    }),
    frame({ type: 'message_stop' }),
  ].join('')
/** The models beside `demo`: one calls the custom tool, the other the agent with that tool. */
const models = {
  calling: modelThatCalls(toolName, {}),
  delegating: modelThatCalls('agent__bench_calling', { prompt: 'Ring the bell.' }),
}

/** What sessions cost that wait for approvals, for results of custom tools and for agents that they have called. */
export const waiting: BenchCase = {
  name: 'waiting',
  title: `${sessions} sessions that wait, a third each for an approval, for the result of a custom tool and for an agent, on a service with ${places} places; ${restMs / 1_000} s at rest`,
  async run({ folder, log }) {
    const answers = Object.entries(models).map(([name, body]) => ({ path: `/${name}/v1/messages`, body, pauseMs: 0 }))
    const upstream = await startUpstream(join(folder, 'upstream'), answers)
    await mkdir(join(folder, 'data'), { recursive: true, mode: 0o711 })
    const counter = insideCounter(folder)
    const config = configOf(upstream.origin)
    const server = await startServer({ dataDir: join(folder, 'data'), config, env: counter.env })
    try {
      const textAgent = await createAgent(server, 'text')
      // As many turns as later: what a turn leaves behind is no cost of waiting.
      await forEach(sessions, () => answered(server, textAgent))
      const atRest = () => restingFigures(() => counter.read(server.pid))
      const [before, probeBefore] = [await atRest(), await probeMs(server, textAgent)]
      const mibBefore = residentMib(server.pid)
      log(`before: ${rounded(before.perSecond)} statements a second, ${rounded(before.heapBytes / MiB)} MiB`)
      const [asking, calling] = [await askingAgent(server), await callingAgent(server)]
      const delegating = await delegatingAgent(server, calling)
      await forEach(sessions - perKind * 2, () => parked(server, asking, 'Create note.txt saying "hello".'))
      await forEach(perKind, () => parkedWithChild(server, delegating))
      const [after, probeAfter] = [await atRest(), await probeMs(server, textAgent)]
      log(`waiting: ${rounded(after.perSecond)} statements a second, ${rounded(after.heapBytes / MiB)} MiB`)
      return figuresOf(
        { ...before, probeMs: probeBefore, residentMib: mibBefore },
        { ...after, probeMs: probeAfter, residentMib: residentMib(server.pid) },
      )
    } finally {
      await server.stop()
      await upstream.stop()
    }
  },
}

const configOf = (upstream: string): string =>
  JSON.stringify({
    model_list: Object.keys(models).map(name => ({
      model_name: name,
      params: { model: 'anthropic/bench', api_base: `${upstream}/${name}`, api_key: 'sk-upstream-0123' },
    })),
    outbound: { allow: [new URL(upstream).host] },
    limits: { max_sessions: places, max_loop_delay_ms: 60_000 },
  })

async function agentOf(server: Server, fields: object): Promise<string> {
  const body = { owner_id: 'bench', model: 'demo', ...fields }
  return (await succeeded(server, 'POST /api/agents', body)).json<{ id: string }>().id
}

const askingAgent = (server: Server): Promise<string> =>
  agentOf(server, {
    name: 'bench asking',
    tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }],
  })

const callingAgent = (server: Server): Promise<string> =>
  agentOf(server, {
    name: 'bench calling',
    model: 'calling',
    tools: [{ type: 'custom', name: toolName, description: 'Rings', input_schema: { type: 'object' } }],
  })

const delegatingAgent = (server: Server, calledId: string): Promise<string> =>
  agentOf(server, { name: 'bench delegating', model: 'delegating', config: { agents: [calledId] } })

/** Does the work so many times, in a few at once. */
async function forEach(count: number, work: () => Promise<unknown>): Promise<void> {
  let left = count
  const worker = async () => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: places }, worker))
}

/** Runs one prompt in a fresh session until an event fits. */
async function runUntil(
  server: Server,
  { agentId, text, model }: { readonly agentId: string; readonly text: string; readonly model?: string },
  fits: (event: SessionEvent) => boolean,
): Promise<void> {
  const sessionId = await createSession(server, agentId)
  const feed = await followSession(server, sessionId)
  await sendPrompt(server, sessionId, text, model)
  await feed.next(0, fits)
  feed.close()
}

const answered = (server: Server, agentId: string) => runUntil(server, { agentId, text: 'Say hello.' }, endsRun)

const waits = ({ type, stop_reason }: SessionEvent): boolean =>
  type === 'session.status_idle' && (stop_reason as { type?: string } | undefined)?.type === 'requires_action'

/** Reports whether the session waits; rejects one that has ended. */
function isParked(event: SessionEvent): boolean {
  if (endsRun(event) && !waits(event)) throw new Error(`the session ended: ${JSON.stringify(event)}`)
  return waits(event)
}

const parked = (server: Server, agentId: string, text: string) => runUntil(server, { agentId, text }, isParked)

/** Starts a session that calls an agent, and waits until the session of that agent waits as well. */
async function parkedWithChild(server: Server, agentId: string): Promise<void> {
  let child = ''
  await runUntil(server, { agentId, text: 'Have the bell rung.', model: 'delegating' }, event => {
    if (event.type !== 'session.thread_status_running') return isParked(event)
    child = event.session_thread_id ?? ''
    return true
  })
  const feed = await followSession(server, child)
  await feed.next(0, isParked)
  feed.close()
}

/** Median time of a prompt in a fresh session. */
async function probeMs(server: Server, agentId: string): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < probes; at++) {
    const startedAt = performance.now()
    await answered(server, agentId)
    times.push(performance.now() - startedAt)
  }
  return median(times)
}

interface AtRest {
  readonly perSecond: number
  readonly heapBytes: number
}

async function restingFigures(look: () => Promise<Inside>): Promise<AtRest> {
  await sleep(5_000)
  const { statements } = await look()
  await sleep(restMs)
  const now = await look()
  return { perSecond: ((now.statements - statements) * 1_000) / restMs, heapBytes: now.heapBytes }
}

interface Measured extends AtRest {
  readonly probeMs: number
  readonly residentMib: number
}

function figuresOf(before: Measured, after: Measured): Figure[] {
  const mib = (bytes: number) => bytes / MiB
  return [
    {
      name: `memory of ${sessions} waiting sessions`,
      value: mib(after.heapBytes - before.heapBytes),
      unit: 'MiB',
      target: 20,
      detail: `heap and buffers, ${rounded(mib(before.heapBytes))} before; resident ${rounded(before.residentMib)} before, ${rounded(after.residentMib)} after`,
    },
    {
      name: 'statements a second that they add',
      value: after.perSecond - before.perSecond,
      unit: '/s',
      target: 1,
      detail: `${rounded(before.perSecond)} before, ${rounded(after.perSecond)} with them`,
    },
    {
      name: `a prompt of one more session, with ${sessions} waiting / without`,
      value: after.probeMs / before.probeMs,
      unit: '',
      target: 2,
      detail: `${rounded(after.probeMs)} / ${rounded(before.probeMs)} ms`,
    },
  ]
}
