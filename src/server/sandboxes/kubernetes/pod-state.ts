import { type Json, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import { onOneLine } from './kubernetes-error.ts'

/** State of a sandbox's pod. `reason` is for people. */
export type PodState =
  | { readonly kind: 'starting'; readonly reason: string }
  | { readonly kind: 'running' }
  /** No process of it is left. */
  | { readonly kind: 'ended'; readonly reason: string }
  /** Will not start without a change, or is being deleted. */
  | { readonly kind: 'broken'; readonly reason: string }

/** Reasons of a waiting container that waiting does not change. */
const hopeless = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'ImagePullBackOff',
  'InvalidImageName',
  'RunContainerError',
])

/** Returns the state that the status of a pod describes. */
export function podStateOf(pod: Json): PodState {
  const status = recordOf(pod['status'])
  const [container = {}] = recordsOf(status['containerStatuses'])
  const state = recordOf(container['state'])
  const phase = textOf(status['phase'])
  if (phase === 'Failed' || phase === 'Succeeded') return { kind: 'ended', reason: endOf(status, state) }
  if (textOf(recordOf(pod['metadata'])['deletionTimestamp']) !== '') return { kind: 'broken', reason: 'deleted' }
  if (phase === 'Running' && container['ready'] === true) return { kind: 'running' }
  const waiting = recordOf(state['waiting'])
  const reason = textOf(waiting['reason'])
  if (hopeless.has(reason)) return { kind: 'broken', reason: described(reason, waiting['message']) }
  return { kind: 'starting', reason: reasonOfStart(status, waiting) }
}

function endOf(status: Json, state: Json): string {
  const { reason, message, exitCode } = recordOf(state['terminated'])
  // A pod that was evicted has a reason of its own; that of its container is only the signal.
  if (textOf(status['reason']) !== '') return described(textOf(status['reason']), status['message'])
  return described(textOf(reason) || `exit code ${exitCode ?? 'unknown'}`, message)
}

function reasonOfStart(status: Json, waiting: Json): string {
  if (textOf(waiting['reason']) !== '') return described(textOf(waiting['reason']), waiting['message'])
  const scheduled = recordsOf(status['conditions']).find(({ type }) => type === 'PodScheduled')
  if (scheduled?.['status'] === 'False')
    return described(textOf(scheduled['reason']) || 'not scheduled', scheduled['message'])
  return textOf(status['phase']) || 'no status'
}

const described = (reason: string, message: unknown): string =>
  onOneLine(textOf(message) === '' ? reason : `${reason}: ${textOf(message)}`)
