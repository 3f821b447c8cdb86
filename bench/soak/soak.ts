import { join } from 'node:path'
import type { BenchCase, Figure, Place } from '../bench-case.ts'
import { succeeded } from '../demo-session.ts'
import { upstreamAnswers } from '../gateway/upstream-answers.ts'
import { insideCounter } from '../inside.ts'
import { type Server, startServer } from '../server.ts'
import { startUpstream } from '../upstream/upstream.ts'
import { type CallsOutcome, modelsAt, sendCalls } from './calls.ts'
import { type Receivers, startReceivers } from './receivers.ts'
import { growthFigures, type Sampler, startSampler } from './samples.ts'
import { runSessions, type SessionsOutcome, watch } from './sessions.ts'

/** Model calls, sessions, readers, metrics, traces, logs, log sinks, recorded bodies, webhooks and a schedule in one process. */
export const soak = (minutes: number): BenchCase => ({
  name: 'soak',
  title: `mixed load with everything on for ${minutes} minutes: is it flat, and is nothing lost?`,
  async run(place) {
    const upstream = await startUpstream(join(place.folder, 'upstream'), upstreamAnswers())
    const receivers = await startReceivers()
    const counter = insideCounter(place.folder)
    const config = configOf(place, { upstream: upstream.origin, receivers: receivers.origin })
    const server = await startServer({ dataDir: join(place.folder, 'data'), config, env: counter.env })
    let sampler: Sampler | undefined
    try {
      const key = await setUp(server, receivers)
      sampler = startSampler(server, counter, place.log)
      const durationMs = minutes * 60_000
      const [calls, sessions, unanswered] = await Promise.all([
        sendCalls(server, { key, durationMs, folder: place.folder }),
        runSessions(server, durationMs),
        watch(server, durationMs),
      ])
      const samples = await sampler.stop()
      for (const fault of new Set([...calls.faults, ...sessions.faults])) place.log(fault)
      const watched = { name: 'failed requests for metrics, usage and readiness', value: unanswered, unit: '' }
      return [...growthFigures(samples), ...outcomeFigures(calls, sessions), watched, ...receiverFigures(receivers)]
    } finally {
      await sampler?.stop()
      await server.stop()
      receivers.stop()
      await upstream.stop()
    }
  },
})

function configOf(
  { folder }: Place,
  { upstream, receivers }: { readonly upstream: string; readonly receivers: string },
): string {
  return JSON.stringify({
    model_list: modelsAt(upstream),
    outbound: { allow: [new URL(upstream).host, new URL(receivers).host] },
    limits: { max_streams: 10_000, max_loop_delay_ms: 60_000 },
    telemetry: { content: true, otlp: { endpoint: receivers, logs: true } },
    log_sinks: [
      { name: 'disk', type: 'file', path: join(folder, 'data', 'calls.jsonl'), max_bytes: 10_000_000, keep: 2 },
      { name: 'http', type: 'http', url: `${receivers}/sink` },
    ],
  })
}

/** Creates a webhook for all events, a schedule for each minute, and a key with a budget, which is returned. */
async function setUp(server: Server, receivers: Receivers): Promise<string> {
  await succeeded(server, 'POST /api/webhook-endpoints', { url: `${receivers.origin}/webhook`, events: [] })
  const tools = [{ type: 'agent_toolset_20260401', default_config: { enabled: false } }]
  const agent = await succeeded(server, 'POST /api/agents', { name: 'hourly', owner_id: 'bench', model: 'demo', tools })
  const schedule = {
    name: 'each minute',
    cron: '* * * * *',
    prompt: 'Report.',
    agent_id: agent.json<{ id: string }>().id,
  }
  await succeeded(server, 'POST /api/schedules', schedule)
  const key = await succeeded(server, 'POST /api/keys', { label: 'soak', max_budget: 1_000_000 })
  return key.json<{ key: string }>().key
}

const outcomeFigures = (calls: CallsOutcome, { sessions, turns, faults }: SessionsOutcome): Figure[] => [
  { name: 'calls without a whole answer', value: calls.broken, unit: '', target: 0, detail: `of ${calls.calls} calls` },
  { name: 'lost events of streams', value: calls.lostEvents, unit: '', target: 0 },
  { name: 'events later by 200 ms or more', value: calls.stalls, unit: '' },
  {
    name: 'sessions with a fault',
    value: faults.length,
    unit: '',
    target: 0,
    detail: `of ${sessions}, ${turns} turns`,
  },
]

/** A part that was off would be flat as well. */
function receiverFigures(receivers: Receivers): Figure[] {
  const counts = Object.entries(receivers.counts())
  for (const [path, count] of counts) if (count === 0) throw new Error(`nothing came to ${path}`)
  return counts.map(([path, value]) => ({ name: `requests to ${path}`, value, unit: '' }))
}
