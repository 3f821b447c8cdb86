import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { percentile } from '../../bench/statistics.ts'
import type { Bench, FaultCase } from './fault-case.ts'
import { sendOnce } from './single-connection.ts'
import { createSite, type Site } from './site.ts'
import { startUpstream } from './upstream.ts'

const phaseS = 15
const badPerSecond = 2_000
const goodPerSecond = 50
/** Until a flood is steady: its process starts and catches up with its own rate, and the first refusals are slower. */
const leadS = 2
/** Quiet and flooded phases take turns, so that what else the machine does meets both. */
const rounds = 2

/** S53: 2,000 wrong keys a second beside model calls with a right one. */
async function floodWithBadKeys(bench: Bench) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: await bench.cluster.database() })
  await site.start()
  const made = await sendOnce(site, 'POST /api/keys', { body: { label: 'good' } })
  assert.equal(made.status, 201)
  const { key } = JSON.parse(made.text) as { key: string }
  await callSteadily(site, key)

  const quietMs: number[] = []
  const floodedMs: number[] = []
  let slowestFlood = Number.POSITIVE_INFINITY
  for (let round = 1; round <= rounds; round++) {
    quietMs.push(...(await callSteadily(site, key)))
    const flood = startFlood(site)
    await sleep(leadS * 1_000)
    floodedMs.push(...(await callSteadily(site, key)))
    const { statuses, perSecond } = await flood
    assert.deepEqual(Object.keys(statuses), ['401'], 'every wrong key is refused as one')
    slowestFlood = Math.min(slowestFlood, perSecond)
    bench.log(`round ${round} of ${rounds}, ${perSecond} wrong keys/s`)
  }
  const [quiet, flooded] = [percentile(quietMs, 0.99), percentile(floodedMs, 0.99)]
  assert.ok(slowestFlood > badPerSecond * 0.9, `only ${slowestFlood} wrong keys/s were sent`)
  const numbers = {
    calls: quietMs.length + floodedMs.length,
    wrong_keys_per_s: slowestFlood,
    quiet_p50_ms: rounded(percentile(quietMs, 0.5)),
    quiet_p99_ms: rounded(quiet),
    flooded_p50_ms: rounded(percentile(floodedMs, 0.5)),
    flooded_p99_ms: rounded(flooded),
  }
  assert.ok(flooded <= 2 * quiet, `the slowest of good calls take too long: ${JSON.stringify(numbers)}`)
  return { rounds, numbers }
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100

/** Model calls with a right key, one every 20 ms; how long each took, in milliseconds. */
async function callSteadily({ url }: Site, key: string): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const calls: Promise<number>[] = []
  const startedAt = performance.now()
  while (calls.length < goodPerSecond * phaseS) {
    const dueMs = (calls.length * 1_000) / goodPerSecond
    await sleep(Math.max(0, startedAt + dueMs - performance.now()))
    calls.push(timedCall(url, { agent, key }))
  }
  const times = await Promise.all(calls)
  agent.destroy()
  return times
}

async function timedCall(
  url: string,
  { agent, key }: { readonly agent: Agent; readonly key: string },
): Promise<number> {
  const startedAt = performance.now()
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const sent = request(`${url}/v1/messages`, { method: 'POST', agent, headers })
  sent.end(JSON.stringify({ model: 'scripted', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }))
  const [answer] = await once(sent, 'response')
  answer.resume()
  await once(answer, 'end')
  assert.equal(answer.statusCode, 200)
  return performance.now() - startedAt
}

interface Flood {
  readonly statuses: Readonly<Record<string, number>>
  readonly perSecond: number
}

/** From its own process: what the client costs must not slow the calls that are measured. */
function startFlood({ url }: Site): Promise<Flood> {
  const script = fileURLToPath(import.meta.resolve('./flood-main.ts'))
  const options = JSON.stringify({ url, perSecond: badPerSecond, seconds: leadS + phaseS + 1 })
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [script, options], (error, output) =>
      error ? reject(error) : resolve(JSON.parse(output)),
    )
  })
}

export const badKeyCases: readonly FaultCase[] = [
  { id: 'keys-flood', group: 'budgets', title: '2,000 wrong keys a second beside good calls', run: floodWithBadKeys },
]
