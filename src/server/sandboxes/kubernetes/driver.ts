import type { KubernetesSandbox } from '../../config/agent-settings.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { boundedOutput } from '../bounded-output.ts'
import { resultOf, watchLimits } from '../limited-process.ts'
import { type BoundRequest, type ExecResult, type SandboxDriver, type SandboxLimits, sandboxUser } from '../sandbox.ts'
import { createKubernetesApi, type KubernetesApi } from './api.ts'
import { checkCluster } from './checks.ts'
import { type Cluster, createCluster } from './cluster.ts'
import { endOf, waysToEnd } from './ending.ts'
import type { ExecStatus } from './kubernetes-error.ts'
import { ownerOfThis, removeLeftovers } from './leftovers.ts'
import { startProgram } from './program.ts'
import { commandScript, inputLines } from './scripts.ts'
import { type AcquiredSlot, createSlots, type Slots } from './slots.ts'
import { type KubernetesTimes, kubernetesTimes } from './times.ts'

export interface KubernetesDriverSettings {
  readonly settings: KubernetesSandbox
  readonly image: string
  readonly limits: SandboxLimits
  readonly workspacesDir: string
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly times?: Partial<KubernetesTimes>
}

/**
 * Returns the driver that runs every command in a pod of a cluster. Rejects with `AppError` when the cluster misses
 * something; the message names it.
 */
export async function kubernetesDriver(options: KubernetesDriverSettings): Promise<SandboxDriver> {
  const { settings, image, limits, workspacesDir, log } = options
  const user = process.getuid?.() || sandboxUser
  const times = { ...kubernetesTimes, ...options.times }
  const api: KubernetesApi = createKubernetesApi(settings.api, times)
  const cluster: Cluster = createCluster({ api, settings, limits, user, times })
  const owner = await ownerOfThis()
  const slots = createSlots({ cluster, image, owner, times })
  const found = await checkCluster({ api, settings, slots, workspacesDir, user, times }).catch((error: unknown) => {
    api.close()
    throw error
  })
  await removeLeftovers(cluster, owner, log)
  return {
    name: 'kubernetes',
    detail: [
      `a pod for each session in namespace ${settings.namespace}, image ${image}, ${settings.runtimeClass ? `runtime class ${settings.runtimeClass}` : 'the default container runtime'}`,
      'no network, and none with config.network: its proxy listens on a socket of this machine',
      ...found,
    ].join('; '),
    owner: process.getuid?.() === 0 ? user : undefined,
    hasNetwork: false,
    hasImages: true,
    hasOwnSystem: true,
    lacksSockets: true,
    exec: (folder, request) => run({ slots, limits }, folder, request),
    start: (folders, request) => startProgram({ slots, limits }, folders, request),
    release: slots.release,
    async close() {
      await slots.close()
      api.close()
    },
  }
}

interface Deps {
  readonly slots: Slots
  readonly limits: SandboxLimits
}

async function run({ slots, limits }: Deps, folder: string, request: BoundRequest): Promise<ExecResult> {
  const { base, command, diskFloor, onOutput, signal, timeoutMs } = request
  const output = boundedOutput(limits.outputBytes)
  if (signal.aborted) return resultOf('cancelled', null, output)
  let stop: (why: 'output_limit') => void = () => undefined
  const stdout = (part: Buffer) => {
    output.add(part)
    onOutput?.(part)
    if (output.bytes > limits.totalOutputBytes) stop('output_limit')
  }
  const begun = await begin(slots, folder, {
    script: commandScript(limits),
    image: base?.image,
    stdout,
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) return undefined
    throw error
  })
  if (!begun) return resultOf('cancelled', null, output)

  const { slot, exec } = begun
  const bounds = { timeoutMs, signal, limits, diskFloor }
  const watched = watchLimits({ folder, ...waysToEnd({ slot, exec, guard: exec }) }, bounds)
  stop = watched.stop
  void exec.send(inputLines(command, {}))
  const status = await exec.ended
  await watched.release()
  const outcome = watched.outcome()
  const lost = await finish(slot, status, () => slots.keep(slot))
  if (lost !== undefined && outcome === 'exited')
    throw new AppError('unavailable', `the sandbox ended during the command (${lost}); files in the workspace are kept`)
  return resultOf(outcome, exitCodeOf(status), output)
}

const exitCodeOf = (status: ExecStatus): number | null => (status.kind === 'exited' ? status.code : null)

interface Beginning {
  readonly script: string
  readonly image: string | undefined
  readonly stdout: (part: Buffer) => void
  readonly signal: AbortSignal
}

/** Starts a script in a sandbox of the workspace; in a new one when the pod of an idle one has ended. */
async function begin(slots: Slots, folder: string, { script, image, stdout, signal }: Beginning) {
  for (;;) {
    const slot = await slots.acquire(folder, { image, signal })
    try {
      return { slot, exec: await slot.start(script, { stdout, signal }) }
    } catch (error) {
      void slot.release()
      if (!slot.isReused) throw error
    }
  }
}

/**
 * Ends what the command has left, and keeps or deletes its sandbox. Returns why the sandbox ended before the command did.
 * Rejects when it could not be confirmed that no process is left.
 */
async function finish(slot: AcquiredSlot, status: ExecStatus, keep: () => void): Promise<string | undefined> {
  const { isClean, isConfirmed, lost } = await endOf(slot, status)
  if (isClean) keep()
  if (isConfirmed) return lost
  throw new AppError(
    'unavailable',
    `cannot confirm that the command has ended: the pod ${slot.name} is still there; the cluster deletes it when it expires`,
  )
}
