import { randomUUID } from 'node:crypto'
import type { A2aStreamResponse } from '../../../contract/a2a-objects.ts'
import { type ClaimedWork, createClaimedWork } from '../../db/claimed-work.ts'
import type { RowCipher } from '../../db/encrypted-rows.ts'
import type { Notifications } from '../../db/notifications.ts'
import { DecryptionError } from '../../platform/encryption.ts'
import type { Log } from '../../platform/log.ts'
import { Recent } from '../../platform/recent.ts'
import { retryDelayMs } from '../../platform/webhook-retries.ts'
import { eventsChannel } from '../../sessions/log/log-page.ts'
import type { Send } from '../../webhook-endpoints/send.ts'
import type { OpenTask, TaskLog } from '../task-log.ts'
import type { TaskPrompt } from '../task-reading.ts'
import type { PushSecrets } from './push-configs.ts'
import type { PushClaim, PushStore } from './push-store.ts'

interface Deps {
  readonly store: PushStore
  readonly cipher: RowCipher<'a2a_push_configs'>
  readonly taskLog: Pick<TaskLog, 'read' | 'next' | 'take'>
  readonly send: Send
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Channel on which key changes are notified. */
  readonly keyChannel: string
  readonly log: Log
  /** Delays between attempts in milliseconds; after the last attempt a config is stopped. */
  readonly retryMs?: readonly number[]
}

/** What one event changes, to be sent in order. `id` is the same in every attempt. */
interface Notification {
  readonly id: string
  readonly seq: number
  readonly frames: readonly A2aStreamResponse[]
}

const contentType = 'application/a2a+json'
const statusGone = 410
const maxInTurn = 100
/** Tasks whose reading continues where the last turn ended, instead of at the start of the task. */
const maxReadings = 50

/** Sends the changes of tasks to the receivers of their configs: in order, each at least once. */
export type PushSender = Pick<ClaimedWork, 'start' | 'stop'>

/**
 * The log of the session is the queue: what is committed is sent, after a crash too. The first notification is the whole task as
 * it was when the config was stored; each later one is a change, as in the stream of `SubscribeToTask`.
 */
export function createPushSender(deps: Deps): PushSender {
  const { store, notifications, log } = deps
  const readings = new Recent<OpenTask<TaskPrompt>>(maxReadings)
  const stopWithInvalidKey = async () => {
    const stopped = await store.stopWithInvalidKey()
    if (stopped > 0) log.warn({ stopped }, 'stopped push notifications whose key was revoked or has expired')
  }
  const work = createClaimedWork({
    notifications,
    channel: eventsChannel,
    markReady: store.markReady,
    async sweep() {
      await store.markAllReady()
      await stopWithInvalidKey()
    },
    claim: busy => store.claim(randomUUID(), busy),
    receiverOf: ({ host }) => host,
    work: (claim, isRunning) => sendAll(deps, readings, claim, isRunning),
    name: 'push notifications',
    log,
  })
  notifications.on(deps.keyChannel, () => work.attempt(stopWithInvalidKey))
  return work
}

/** Sends the notifications of a claim in order, until one fails or none is left. */
async function sendAll(
  deps: Deps,
  readings: Recent<OpenTask<TaskPrompt>>,
  first: PushClaim,
  isRunning: () => boolean,
): Promise<void> {
  const { store, taskLog } = deps
  const name = `${first.task_id} ${first.id} ${first.version}`
  const known = readings.take(name)
  const task = known?.after === first.seq ? known : await taskLog.read(first.prompt, first.seq)
  let claim: PushClaim | undefined = first
  if (!claim.has_task) {
    const whole = { id: `${claim.task_id}.${claim.seq}`, seq: claim.seq, frames: [{ task: task.reading.task(0) }] }
    claim = await settled(deps, claim, task, whole)
  }
  for (let turn = 0; claim && turn < maxInTurn && isRunning(); turn++) {
    const next = await nextOf(taskLog, task)
    if (!next) break
    claim = await settled(deps, claim, task, next)
  }
  if (!claim) return
  readings.set(name, task)
  await store.release(claim, task.after)
}

/** Sends one notification and stores the result. Returns the claim after it; undefined when the turn is over. */
async function settled(
  deps: Deps,
  claim: PushClaim,
  { reading }: OpenTask<TaskPrompt>,
  notification: Notification,
): Promise<PushClaim | undefined> {
  const { isDelivered, httpStatus, error } = await sendFrames(deps, claim, notification)
  if (isDelivered) {
    const { seq } = notification
    const state = reading.isOver ? ('done' as const) : ('active' as const)
    const isKept = await deps.store.settle(claim, { seq, hasTask: true, attempts: 0, state, retryMs: undefined })
    return isKept && state === 'active' ? { ...claim, seq, has_task: true, attempts: 0 } : undefined
  }
  const attempts = claim.attempts + 1
  const retryMs = httpStatus === statusGone ? undefined : retryDelayMs(attempts, deps.retryMs)
  const state = retryMs === undefined ? ('stopped' as const) : ('active' as const)
  await deps.store.settle(claim, { seq: claim.seq, hasTask: claim.has_task, attempts, state, retryMs })
  if (state === 'stopped')
    deps.log.warn(
      { task_id: claim.task_id, config_id: claim.id, attempts, error },
      'stopped push notifications of a task',
    )
  return undefined
}

/** Reads on to the next event that changes the task; undefined at the end of the log. */
async function nextOf(taskLog: Deps['taskLog'], task: OpenTask<TaskPrompt>): Promise<Notification | undefined> {
  for (;;) {
    const events = await taskLog.next(task)
    if (events.length === 0) return undefined
    for (const event of events) {
      task.after = event.seq
      const frames = await taskLog.take(task, event)
      if (frames.length > 0) return { id: event.id, seq: event.seq, frames }
    }
  }
}

interface Outcome {
  readonly isDelivered: boolean
  readonly httpStatus: number | null
  readonly error: string | null
}

/** Sends frames one after another, until one fails. */
async function sendFrames({ send, cipher }: Deps, claim: PushClaim, { id, frames }: Notification): Promise<Outcome> {
  const secrets = secretsOf(cipher, claim)
  if (!secrets) return { isDelivered: false, httpStatus: null, error: 'the stored token cannot be decrypted' }
  for (const [at, frame] of frames.entries()) {
    const headers = {
      'content-type': contentType,
      'user-agent': 'switchyard',
      'webhook-id': `${id}.${at}`,
      ...(secrets.token !== undefined && { 'x-a2a-notification-token': secrets.token }),
      ...(secrets.authorization !== undefined && { authorization: secrets.authorization }),
    }
    const sending = await send({ url: claim.url, headers, body: JSON.stringify(frame) })
    if (!sending.isDelivered) return sending
  }
  return { isDelivered: true, httpStatus: null, error: null }
}

function secretsOf(cipher: Deps['cipher'], claim: PushClaim): PushSecrets | undefined {
  try {
    return JSON.parse(cipher.decrypt(claim).toString()) as PushSecrets
  } catch (error) {
    if (error instanceof DecryptionError) return undefined
    throw error
  }
}
