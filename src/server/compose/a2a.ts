import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { createPushConfigs } from '../a2a/push/push-configs.ts'
import { createPushSender } from '../a2a/push/push-sender.ts'
import { pushStore } from '../a2a/push/push-store.ts'
import { serveA2a } from '../a2a/routes.ts'
import { createTaskFiles } from '../a2a/task-files.ts'
import { createTaskLog } from '../a2a/task-log.ts'
import { taskStore } from '../a2a/task-store.ts'
import { createTasks } from '../a2a/tasks.ts'
import type { Agents } from '../agents/agents.ts'
import { createRowCipher } from '../db/encrypted-rows.ts'
import type { Notifications } from '../db/notifications.ts'
import type { Authenticate } from '../http/auth.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import { keyChannel } from '../keys/key-channel.ts'
import type { Keys } from '../keys/keys.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { LiveEvents } from '../sessions/log/live-events.ts'
import { titleOf } from '../sessions/new-session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { createSend } from '../webhook-endpoints/send.ts'

interface Needs {
  readonly shutdown: AbortSignal
  readonly log: Log
  readonly keyring: Keyring
  readonly pool: Pool
  readonly notifications: Notifications
  /** Outbound connections. */
  readonly outbound: Pick<Outbound, 'connect'>
  /** Checks the addresses of receivers. */
  readonly guard: () => Outbound
  readonly authenticate: Authenticate
  readonly keys: Keys
  readonly agents: Agents
  readonly sessions: Sessions
  readonly events: EventStore
  readonly live: LiveEvents
  /** Returns the files that runs of a session have written between two events. */
  readonly written: Parameters<typeof createTaskFiles>[0]['written']
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  readonly publicUrl: () => string
}

/** Our agents under the Agent2Agent protocol. */
export function composeA2a({ pool, sessions, events, live, ...needs }: Needs) {
  const filesOf = createTaskFiles({ written: needs.written, publicUrl: needs.publicUrl })
  const taskLog = createTaskLog({ events, live, filesOf })
  const tasks = createTasks({ store: taskStore(pool), sessions, log: taskLog, titleOf })
  const store = pushStore(pool)
  const cipher = createRowCipher(needs.keyring, 'a2a_push_configs')
  const push = createPushConfigs({ store, cipher, outbound: needs.guard })
  const { notifications, log } = needs
  const send = createSend(needs.outbound)
  const sender = createPushSender({ store, cipher, taskLog, send, notifications, keyChannel, log })
  const parts: readonly Part[] = [
    { name: 'push notifications', isSessionWork: true, start: sender.start, drain: sender.stop },
  ]
  return {
    log: taskLog,
    parts,
    serve(app: FastifyInstance) {
      serveA2a(app, { ...needs, tasks, push, log: taskLog })
    },
  }
}
