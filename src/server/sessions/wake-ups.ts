import type { PoolClient } from 'pg'
import { PgBoss } from 'pg-boss'
import type { Log } from '../platform/log.ts'

const queue = 'session-wake'

/** Wake-ups for sessions: jobs on the same database, sent in the transaction of the prompt they announce. */
export interface WakeUps {
  /** Prepares the queue. */
  start(): Promise<void>
  /** Announces work for a session; takes effect when the transaction commits. */
  send(client: PoolClient, sessionId: string): Promise<void>
  /** Calls `handler` with each session that has work. A job ends when the handler resolves; nothing hangs on it. */
  listen(handler: (sessionId: string) => Promise<void>): Promise<void>
  stop(): Promise<void>
}

interface Wake {
  readonly session_id: string
}

const parallel = 8

/**
 * Wake-ups on pg-boss. A job is a hint: the lease decides who runs a session, and a sweeper finds what no job announced.
 */
export function createWakeUps(databaseUrl: string, log: Log): WakeUps {
  const boss = new PgBoss({
    connectionString: databaseUrl,
    max: 3,
    application_name: 'switchyard-jobs',
    useListenNotify: true,
  })
  boss.on('error', cause => log.warn({ err: cause }, 'the job queue reported an error'))
  return {
    async start() {
      await boss.start()
      // `short`: at most one waiting job per session.
      await boss.createQueue(queue, { policy: 'short', notify: true, retryLimit: 0, deleteAfterSeconds: 300 })
    },
    async send(client, sessionId) {
      const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
      await boss.send(queue, { session_id: sessionId }, { singletonKey: sessionId, db })
    },
    async listen(handler) {
      const options = { localConcurrency: parallel, pollingIntervalSeconds: 2, notifyPollingIntervalSeconds: 2 }
      await boss.work<Wake>(queue, options, async jobs => {
        for (const { data } of jobs) await handler(data.session_id)
      })
    },
    stop: () => boss.stop({ graceful: false }),
  }
}
