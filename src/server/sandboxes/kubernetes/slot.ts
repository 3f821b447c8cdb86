import { AppError } from '../../platform/errors.ts'
import { every, pause } from '../../platform/timers.ts'
import type { Cluster } from './cluster.ts'
import type { ExecCommand, RunningExec } from './exec.ts'
import type { SandboxObject } from './objects.ts'
import type { PodState } from './pod-state.ts'
import { cleanScript, dirtyCode } from './scripts.ts'
import type { KubernetesTimes } from './times.ts'

/**
 * `clean`: no process is left. `dirty`: something is left, so that the pod must not be reused. `unreachable`: the pod did not
 * answer, possibly because it has ended.
 */
export type Cleaning = 'clean' | 'dirty' | 'unreachable'

/** One Sandbox resource with its running pod. It runs one command or program at a time. */
export interface Slot {
  readonly name: string
  /** Starts a shell script in the container. */
  start(script: string, streams?: Partial<Pick<ExecCommand, 'stdout' | 'stderr' | 'signal'>>): Promise<RunningExec>
  /** Kills all processes and empties the scratch folders. */
  clean(): Promise<Cleaning>
  /** Returns why its pod has ended or will end; undefined when it keeps running. */
  whyEnded(): Promise<string | undefined>
  /** Deletes it. Returns true once no process of it is left, false when that could not be confirmed in time. */
  destroy(): Promise<boolean>
  /** Deletes it without waiting for its end. Never rejects: what cannot be deleted expires. */
  release(): Promise<void>
}

interface Creation {
  readonly object: Omit<SandboxObject, 'expires'>
  readonly times: KubernetesTimes
  readonly signal: AbortSignal
}

const cleanMs = 15_000
const firstPollMs = 50
const maxPollMs = 1_000
const watchPauseMs = 200

/** Creates a sandbox and waits until it runs. Rejects with `AppError`, or with the reason of the signal. */
export async function createSlot(cluster: Cluster, { object, times, signal }: Creation): Promise<Slot> {
  const { name } = object
  const expires = () => new Date(Date.now() + times.leaseMs)
  try {
    await cluster.create({ ...object, expires: expires() }, signal)
    await untilRunning(cluster, name, { startMs: times.startMs, signal })
  } catch (error) {
    // It expires when this fails, too.
    void cluster.remove(name).catch(() => undefined)
    throw error
  }
  const stopRenewing = every(times.leaseMs / 3, () => cluster.renew(name, expires()).catch(() => undefined))
  return {
    name,
    start: (script, streams = {}) => cluster.exec({ pod: name, command: ['/bin/sh', '-c', script], ...streams }),
    clean: () => cleaned(cluster, name),
    whyEnded: () => endOf(cluster, name),
    async destroy() {
      void stopRenewing()
      const endMs = performance.now() + times.endMs
      for (let waitMs = firstPollMs; performance.now() < endMs; waitMs = Math.min(waitMs * 2, maxPollMs)) {
        const isGone = await cluster.remove(name).then(
          async () => (await cluster.podState(name)).kind === 'ended',
          () => false,
        )
        if (isGone) return true
        await pause(waitMs)
      }
      return false
    },
    async release() {
      void stopRenewing()
      await cluster.remove(name).catch(() => undefined)
    },
  }
}

interface Waiting {
  readonly startMs: number
  readonly signal: AbortSignal
}

async function untilRunning(cluster: Cluster, name: string, { startMs, signal }: Waiting): Promise<void> {
  const late = AbortSignal.timeout(startMs)
  const either = AbortSignal.any([signal, late])
  let reason = 'no pod was created; check the controller of agent-sandbox'
  while (!either.aborted) {
    // A watch that expired or was interrupted starts again, with the present state first.
    const states = cluster.podStates(name, either)
    const last = await lastState(states, state => {
      reason = state.kind === 'running' ? reason : state.reason
    }).catch(() => undefined)
    if (last?.kind === 'running') return
    if (last) throw new AppError('unavailable', `the sandbox cannot start: ${last.reason}`)
    await pause(watchPauseMs, either)
  }
  signal.throwIfAborted()
  throw new AppError('unavailable', `the sandbox did not start within ${startMs / 1000} s: ${reason}`)
}

type FinalState = Exclude<PodState, { kind: 'starting' }>

/** Returns the first state in which a pod is no longer starting; undefined when the watch ended before. */
async function lastState(
  states: AsyncGenerator<PodState>,
  seen: (state: PodState) => void,
): Promise<FinalState | undefined> {
  for await (const state of states) {
    seen(state)
    if (state.kind !== 'starting') return state
  }
  return undefined
}

/** The status of a pod is a moment behind the end of its container. */
const maxStatusDelayMs = 3_000

async function endOf(cluster: Cluster, name: string): Promise<string | undefined> {
  const endMs = performance.now() + maxStatusDelayMs
  while (performance.now() < endMs) {
    const state = await cluster.podState(name).catch(() => undefined)
    if (state?.kind === 'ended' || state?.kind === 'broken') return state.reason
    await pause(watchPauseMs)
  }
  return undefined
}

async function cleaned(cluster: Cluster, name: string): Promise<Cleaning> {
  try {
    const run = await cluster.exec({ pod: name, command: ['/bin/sh', '-c', cleanScript] })
    const late = setTimeout(run.abandon, cleanMs)
    const status = await run.ended
    clearTimeout(late)
    if (status.kind === 'exited' && status.code === 0) return 'clean'
    return status.kind === 'exited' && status.code === dirtyCode ? 'dirty' : 'unreachable'
  } catch {
    // The caller deletes a sandbox that cannot be cleaned.
    return 'unreachable'
  }
}
