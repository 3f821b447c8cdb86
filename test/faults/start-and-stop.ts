import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Bench, FaultCase } from './fault-case.ts'
import { createSite } from './site.ts'
import { startUpstream } from './upstream.ts'

const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts')
const rounds = 3
const maxStopMs = 1_000
const maxRejectionMs = 300

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** An idle service with the usual drain delay and no other replica ends soon after SIGTERM. */
async function stopIdle(bench: Bench) {
  const upstream = await startUpstream(bench)
  const env = { SWITCHYARD_DRAIN_DELAY_MS: undefined }
  const site = await createSite(bench, { upstream, database: 'embedded', env })
  const took: number[] = []
  for (let round = 0; round < rounds; round++) {
    const service = await site.start()
    const startedAt = performance.now()
    assert.equal(await service.stop(), 0)
    took.push(performance.now() - startedAt)
  }
  const stopMs = Math.round(median(took))
  assert.ok(stopMs < maxStopMs, `the stop took ${stopMs} ms, at most ${maxStopMs} ms are allowed`)
  return { rounds, numbers: { stopMs } }
}

/** A second start on the data folder of a running service reports it at once. */
async function startTwice(bench: Bench) {
  const upstream = await startUpstream(bench)
  const site = await createSite(bench, { upstream, database: 'embedded' })
  const { url } = await site.start()
  const took: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now()
    const child = spawn(process.execPath, [main, 'serve', '--data-dir', site.dataDir], {
      env: { PATH: process.env['PATH'], HOME: bench.folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let output = ''
    child.stderr.on('data', chunk => {
      output += chunk
    })
    const [code] = await once(child, 'close')
    took.push(performance.now() - startedAt)
    assert.equal(code, 1)
    assert.ok(output.startsWith(`already running at ${url} `), output)
  }
  const refusalMs = Math.round(median(took))
  assert.ok(refusalMs < maxRejectionMs, `the answer took ${refusalMs} ms, at most ${maxRejectionMs} ms are allowed`)
  return { rounds, numbers: { refusalMs } }
}

export const startAndStopCases: readonly FaultCase[] = [
  { id: 'C4', group: 'start', title: 'an idle service without other replicas stops within 1 s', run: stopIdle },
  { id: 'E3', group: 'start', title: 'a second start on a data folder is rejected within 300 ms', run: startTwice },
]
