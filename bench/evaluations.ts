import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Experiment } from '../src/contract/experiments.ts'
import type { BenchCase, Figure } from './bench-case.ts'
import { startCpuClock } from './cpu-clock.ts'
import { createAgent, createSession, sendPrompt, succeeded } from './demo-session.ts'
import { type Server, startServer } from './server.ts'
import { median } from './statistics.ts'

const cases = 500
const parallel = 100
const rounds = 3
const casesOfRequest = 100
/** A busy session: each prompt is two model calls and a tool call. */
const prompts = Array.from({ length: 5 }, (_, at) => `Create hello-${at}.txt`)
const pollMs = 1_000

/** CPU time of an experiment beside that of the same sessions without one, in interleaved rounds. */
export const evaluations: BenchCase = {
  name: 'evaluations',
  title: `CPU time of an experiment with ${cases} cases, ${parallel} at a time, beside the same sessions of ${prompts.length} prompts; ${rounds} rounds`,
  async run({ folder, log }) {
    const server = await startServer({ dataDir: join(folder, 'data') })
    try {
      const agentId = await createAgent(server, 'tool')
      const datasetId = await createDataset(server)
      const times = { experiment: [] as number[], sessions: [] as number[] }
      // The first round compiles the code.
      for (let round = 0; round <= rounds; round++) {
        const experiment = await cpuMsOf(server, () => runExperiment(server, { agentId, datasetId }))
        const sessions = await cpuMsOf(server, () => runSessions(server, agentId))
        log(`experiment ${experiment.toFixed(0)} ms, sessions ${sessions.toFixed(0)} ms`)
        if (round === 0) continue
        times.experiment.push(experiment)
        times.sessions.push(sessions)
      }
      return figuresOf(times)
    } finally {
      await server.stop()
    }
  },
}

/** CPU time of the service and its database. */
async function cpuMsOf(server: Server, work: () => Promise<void>): Promise<number> {
  const clock = startCpuClock(server.pid)
  await work()
  return clock().wholeUs / 1_000
}

async function createDataset(server: Server): Promise<string> {
  const { id } = (await succeeded(server, 'POST /api/datasets', { name: 'bench' })).json<{ id: string }>()
  const one = { prompts, graders: [{ type: 'regex', pattern: '.' }] }
  for (let count = 0; count < cases; count += casesOfRequest)
    await succeeded(server, `POST /api/datasets/${id}/cases`, { cases: Array(casesOfRequest).fill(one) })
  return id
}

async function runExperiment(server: Server, of: { agentId: string; datasetId: string }): Promise<void> {
  const body = { dataset_id: of.datasetId, agent_id: of.agentId, max_parallel: parallel }
  const { id } = (await succeeded(server, 'POST /api/experiments', body)).json<Experiment>()
  for (;;) {
    const { ended_at, counts } = (await succeeded(server, `GET /api/experiments/${id}`)).json<Experiment>()
    if (ended_at !== null) {
      if (counts.passed !== cases) throw new Error(`${counts.passed} of ${cases} cases passed`)
      return
    }
    await sleep(pollMs)
  }
}

async function runSessions(server: Server, agentId: string): Promise<void> {
  let left = cases
  const worker = async () => {
    while (left-- > 0) {
      const id = await createSession(server, agentId)
      for (const prompt of prompts) await sendPrompt(server, id, prompt)
      await untilIdle(server, id)
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
}

/** Waits for the end of each prompt, without a poll. */
async function untilIdle(server: Server, id: string): Promise<void> {
  let after = 0
  for (let ended = 0; ended < prompts.length; ) {
    const line = `GET /v1/sessions/${id}/events?types=session.status_idle&after=${after}&wait=30`
    const { data } = (await succeeded(server, line)).json<{ data: { seq: number }[] }>()
    ended += data.length
    after = data.at(-1)?.seq ?? after
  }
}

function figuresOf({ experiment, sessions }: Readonly<Record<'experiment' | 'sessions', readonly number[]>>): Figure[] {
  const [of, beside] = [median(experiment), median(sessions)]
  return [
    { name: 'CPU time of the experiment', value: of, unit: 'ms' },
    { name: 'CPU time of the same sessions', value: beside, unit: 'ms' },
    { name: 'ratio', value: of / beside, unit: '', target: 1.05, detail: `median of ${rounds} rounds` },
  ]
}
