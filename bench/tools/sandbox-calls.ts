import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createSandboxes } from '../../src/server/sandboxes/sandboxes.ts'
import type { BenchCase, Figure } from '../bench-case.ts'
import { median, rounded } from '../statistics.ts'

const rounds = 100
const warmUp = 5
const boundMs = { virtual: 5, bubblewrap: 30 } as const
const quiet = { info: () => undefined, warn: () => undefined }

/** How long a command takes that does nothing. */
export const sandboxCalls: BenchCase = {
  name: 'sandbox-calls',
  title: `the command "true" in each sandbox, one after the other; medians of ${rounds}`,
  async run({ folder }) {
    const figures: Figure[] = [{ name: 'sh -c true, no sandbox', value: median(await timesOf(bareShell)), unit: 'ms' }]
    for (const prefer of ['virtual', 'bubblewrap'] as const) {
      const sandboxes = await createSandboxes({ workspacesDir: join(folder, prefer), log: quiet, prefer })
      try {
        const sandbox = await sandboxes.open('bench')
        const times = await timesOf(async () => {
          const { exitCode, output } = await sandbox.exec({ command: 'true' })
          if (exitCode !== 0) throw new Error(`true exited with ${exitCode}: ${output}`)
        })
        const detail = `p95 ${rounded(times.toSorted((a, b) => a - b)[Math.floor(rounds * 0.95)] ?? 0)} ms`
        figures.push({ name: `call, ${prefer}`, value: median(times), unit: 'ms', target: boundMs[prefer], detail })
      } finally {
        await sandboxes.stopAll()
      }
    }
    return figures
  },
}

async function bareShell(): Promise<void> {
  await once(spawn('/bin/sh', ['-c', 'true'], { stdio: 'ignore' }), 'exit')
}

/** Milliseconds of each call. */
async function timesOf(call: () => Promise<void>): Promise<number[]> {
  for (let at = 0; at < warmUp; at++) await call()
  const times: number[] = []
  for (let at = 0; at < rounds; at++) {
    const startedAt = performance.now()
    await call()
    times.push(performance.now() - startedAt)
  }
  return times
}
