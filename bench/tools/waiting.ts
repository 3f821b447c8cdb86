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

/** Of each kind. */
const perKind = 500
/** Fewer than the sessions that wait: a waiting session must not occupy a place. */
const places = 10
const restMs = 30_000
const probes = 9
const MiB = 1024 * 1024

const toolName = 'ring'
const frame = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
/** A model that calls the tool and says nothing. */
const callingModel = [
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
    content_block: { type: 'tool_use', id: 'toolu_1', name: toolName, input: {} },
  }),
  frame({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } }),
  frame({ type: 'content_block_stop', index: 0 }),
  frame({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 9 },
  }),
  frame({ type: 'message_stop' }),
].join('')

/** What sessions cost that wait for approvals and for results of custom tools. */
export const waiting: BenchCase = {
  name: 'waiting',
  title: `${perKind} sessions that wait for an approval and ${perKind} for the result of a custom tool, on a service with ${places} places; ${restMs / 1_000} s at rest`,
  async run({ folder, log }) {
    const upstream = await startUpstream(join(folder, 'upstream'), [
      { path: '/v1/messages', body: callingModel, pauseMs: 0 },
    ])
    await mkdir(join(folder, 'data'), { recursive: true, mode: 0o711 })
    const counter = insideCounter(folder)
    const config = configOf(upstream.origin)
    const server = await startServer({ dataDir: join(folder, 'data'), config, env: counter.env })
    try {
      const textAgent = await createAgent(server, 'text')
      // As many turns as later: what a turn leaves behind is no cost of waiting.
      await forEach(perKind * 2, () => answered(server, textAgent))
      const atRest = () => restingFigures(() => counter.read(server.pid))
      const [before, probeBefore] = [await atRest(), await probeMs(server, textAgent)]
      const mibBefore = residentMib(server.pid)
      log(`before: ${rounded(before.perSecond)} statements a second, ${rounded(before.heapBytes / MiB)} MiB`)
      const [asking, calling] = [await askingAgent(server), await callingAgent(server)]
      await forEach(perKind, () => parked(server, asking, 'Create note.txt saying "hello".'))
      await forEach(perKind, () => parked(server, calling, 'Ring the bell.', 'calling'))
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
    model_list: [
      {
        model_name: 'calling',
        params: { model: 'anthropic/bench', api_base: upstream, api_key: 'sk-upstream-0123' },
      },
    ],
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

const parked = (server: Server, agentId: string, text: string, model = 'demo') =>
  runUntil(server, { agentId, text, model }, event => {
    if (endsRun(event) && !waits(event)) throw new Error(`the session ended: ${JSON.stringify(event)}`)
    return waits(event)
  })

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
  const count = perKind * 2
  return [
    {
      name: `memory of ${count} waiting sessions`,
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
      name: `a prompt of one more session, with ${count} waiting / without`,
      value: after.probeMs / before.probeMs,
      unit: '',
      target: 2,
      detail: `${rounded(after.probeMs)} / ${rounded(before.probeMs)} ms`,
    },
  ]
}
