import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createLog } from '../../src/server/platform/log.ts'
import type { Runtime } from '../../src/server/runtimes/runtime.ts'
import { createSandboxes } from '../../src/server/sandboxes/sandboxes.ts'
import { countRunning } from '../../src/server/sandboxes/sandboxes-for-tests.ts'
import { acpRigOver, doing } from '../support/acp/acp-rig.ts'
import { eventually } from '../support/service/eventually.ts'
import { noRefs, promptOf, runRig } from '../support/sessions/run-rig.ts'
import { type Bench, type FaultCase, Skipped } from './fault-case.ts'

interface Plan {
  readonly rounds: number
}

/** A child that would outlive its program. */
const marker = `sleep 8${process.pid}7`
const settledMs = 20_000
const mebibyte = 1024 * 1024

/** Ways in which the program of a session comes to its end, while a child of it runs. */
const ends: readonly ((runtime: Runtime) => Promise<unknown>)[] = [
  async function ownCrash(runtime) {
    const rig = runRig()
    await rig.run(runtime, promptOf(doing({ child: marker }, { say: 'a' }, { exit: 3 })))
    assert.equal(rig.log.at(-1)?.type, 'session.error')
  },
  async function ignoredInterrupt(runtime) {
    const stop = new AbortController()
    const rig = runRig()
    const running = rig.run(runtime, promptOf(doing({ child: marker }, { say: 'a' }, { hang: true })), {
      signal: stop.signal,
    })
    await eventually(() => rig.previews.length > 0, { withinMs: settledMs })
    stop.abort()
    await running
  },
  async function deletion(runtime) {
    const rig = runRig()
    await rig.run(runtime, promptOf(doing({ child: marker }, { say: 'a' })))
    await runtime.dispose({ id: rig.session.id, refs: noRefs })
  },
  async function deletionInTheTurn(runtime) {
    const stop = new AbortController()
    const rig = runRig()
    const running = rig.run(runtime, promptOf(doing({ child: marker }, { say: 'a' }, { hang: true })), {
      signal: stop.signal,
    })
    await eventually(() => rig.previews.length > 0, { withinMs: settledMs })
    stop.abort()
    await runtime.dispose({ id: rig.session.id, refs: noRefs })
    await running
  },
  async function leftAlone(runtime) {
    await runRig().run(runtime, promptOf(doing({ child: marker }, { say: 'a' })))
  },
]

/** Starts and ends programs in turn; no process, socket or memory may be left of them. */
export async function endPrograms(bench: Bench, { rounds }: Plan) {
  const workspacesDir = join(bench.folder, 'workspaces')
  const sandboxes = await createSandboxes({ workspacesDir, log: createLog('silent'), prefer: 'bubblewrap' }).catch(
    (error: Error) => {
      throw new Skipped(error.message)
    },
  )
  bench.defer(() => sandboxes.stopAll())
  const fake = { ignoresCancel: true }
  const { runtime } = acpRigOver(sandboxes, { isolation: 'sandbox', fake, cancelMs: 100, idleMs: 100 })
  bench.defer(() => runtime.close())
  const warmUp = ends.length
  let before = held()
  for (let round = 0; round < warmUp + rounds; round++) {
    if (round === warmUp) before = await settled(() => held())
    await ends[round % ends.length]?.(runtime)
    if (round % 20 === 0) bench.log(`round ${round}`)
  }
  await settled(() => undefined)
  // The pipes of a program go a moment after it.
  const maxLeft = before.resources + 2
  await eventually(() => held().resources <= maxLeft, { withinMs: settledMs }).catch(() => undefined)
  const left = held()
  assert.ok(left.resources <= maxLeft, `${left.resources} handles are open, ${before.resources} were before`)
  assert.ok(left.heapMb <= before.heapMb + 20, `the heap grew from ${before.heapMb} to ${left.heapMb} MB`)
  // A socket goes when its program has ended, which its children may do before.
  await eventually(() => socketsIn(workspacesDir).length === 0, { withinMs: settledMs }).catch(() => undefined)
  assert.deepEqual(socketsIn(workspacesDir), [])
  return { rounds, handles: left.resources - before.resources, heap_growth_mb: left.heapMb - before.heapMb }
}

async function settled<T>(observer: () => T): Promise<T> {
  await eventually(async () => (await countRunning(marker)) === 0, {
    withinMs: settledMs,
    what: 'the end of all children',
  })
  return observer()
}

const socketsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('gateway.sock'))

const held = () => ({
  resources: process.getActiveResourcesInfo().filter(name => !/Timeout|Immediate/.test(name)).length,
  heapMb: Math.round(process.memoryUsage().heapUsed / mebibyte),
})

export const programCases: readonly FaultCase[] = [
  {
    id: 'F41',
    group: 'programs',
    title: 'programs that crash, do not obey, are deleted or left alone: nothing of them is left',
    async run(bench) {
      const { rounds, ...numbers } = await endPrograms(bench, { rounds: 200 })
      return { rounds, numbers }
    },
  },
]
