import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import type { Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { untilQuiet } from './load.ts'
import { observe } from './observer.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { startUpstream, toolPrompt } from './upstream.ts'

const openFiles = 160
const idleConnections = 300
const promptsPerRound = 12

interface Plan {
  readonly rounds: number
  readonly database: string
}

/** V3: idle connections use up the descriptors while tools start programs; the process survives and recovers each time. */
export async function useUpDescriptors(bench: Bench, { rounds, database }: Plan) {
  const upstream = await startUpstream(bench)
  const launcher = `ulimit -n ${openFiles}; exec "$@"`
  const site = await createSite(bench, { upstream, database, launcher })
  const service = await site.start()
  const observer = observe(bench, site.databaseUrl)
  let unready = 0
  for (let round = 0; round < rounds; round++) {
    const prompts = Array.from({ length: promptsPerRound }, (_, index) => begin(site, `r${round}-${index}`))
    const sessions = await Promise.all(prompts)
    const idle = crowd(service.url)
    unready += await eventually(() => answersOf(service.url), { withinMs: 30_000, what: 'an answer of readiness' })
    for (const socket of idle) socket.destroy()
    await untilQuiet(observer, [])
    assert.equal(sessions.length, promptsPerRound)
    assert.equal(process.kill(service.pid, 0), true, 'the service lives')
    await eventually(async () => (await sendOnce(site, 'GET /health/ready')).status === 200, { what: 'readiness' })
  }
  await begin(site, 'last')
  await untilQuiet(observer, [])
  const { rows } = await observer.pool.query<{ state: string }>(
    'select state from prompts order by created_at desc limit 1',
  )
  assert.equal(rows[0]?.state, 'done')
  assert.doesNotMatch(site.logs(), /uncaughtException|unhandledRejection/)
  return { rounds, numbers: { prompts: rounds * promptsPerRound + 1, rounds_not_ready: unready } }
}

async function begin(site: Site, key: string): Promise<Session> {
  const answer = await sendOnce(site, 'POST /session', { body: { title: key, prompt: toolPrompt(key) } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Session>()
}

/** Connections that never send anything; those beyond the bound of the service are closed by it. */
function crowd(url: string): Socket[] {
  const { hostname, port } = new URL(url)
  return Array.from({ length: idleConnections }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    return socket
  })
}

/** 1 when readiness names the descriptors, or the connection is rejected for want of them; 0 when it is ready. */
async function answersOf(url: string): Promise<0 | 1 | undefined> {
  try {
    const answer = await fetch(`${url}/health/ready`, { headers: { connection: 'close' } })
    const text = await answer.text()
    if (answer.status === 200) return 0
    assert.match(text, /file descriptor|database/)
    return 1
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    return 1
  }
}

export const openFileCases: readonly FaultCase[] = [
  {
    id: 'V3',
    title: `idle connections use up ${openFiles} descriptors under tool calls, 20 times`,
    run: async bench => useUpDescriptors(bench, { rounds: 20, database: await bench.cluster.database() }),
  },
]
