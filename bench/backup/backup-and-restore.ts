import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import type { BackupReport } from '../../src/server/backups.ts'
import { connectAlone, createPool } from '../../src/server/db/connect.ts'
import { startEmbeddedPostgres } from '../../src/server/db/embedded-postgres.ts'
import { migrate } from '../../src/server/db/migrate.ts'
import type { Finding } from '../../src/server/doctor.ts'
import { createLog } from '../../src/server/platform/log.ts'
import type { RestoreReport } from '../../src/server/restore.ts'
import type { BenchCase, Figure } from '../bench-case.ts'
import { rounded } from '../statistics.ts'
import { timedCommand } from './timed-command.ts'

interface Size {
  readonly name: string
  readonly sessions: number
  readonly eventsOfEach: number
}

/** Resident memory of the command, of which Node itself takes some 100 MB. */
const maxMemoryMb = 400

const sessionsText = `
  insert into sessions (id, owner_id, title, agent, agent_id, harness, runtime, environment, last_outcome, next_seq, next_position)
  select 'ses_' || lpad(to_hex(n), 32, '0'), 'bob', 'Session ' || n, '', 'agent_1', 'builtin', 'builtin', '{}', 'completed', $2 + 1, 2
  from generate_series(1, $1::int) n`

const promptsText = `
  insert into prompts (id, session_id, position, parts, model, mode, principal, state, started_at, ended_at)
  select 'msg_' || n, 'ses_' || lpad(to_hex(n), 32, '0'), 1, '[]', 'demo', 'enqueue', 'bob', 'done', now(), now()
  from generate_series(1, $1::int) n`

// Texts that differ, as those of models do.
const eventsText = `
  insert into session_events (session_id, seq, id, type, payload, bytes, fence)
  select 'ses_' || lpad(to_hex(n), 32, '0'), seq, 'evt_' || n || '_' || seq, 'agent.message', payload::json, octet_length(payload), 1
  from generate_series(1, $1::int) n cross join generate_series(1, $2::int) seq cross join lateral (
    select json_build_object('content', json_build_array(json_build_object('type', 'text', 'text',
      md5(n || '/' || seq) || repeat(' the quick brown fox ' || seq, 8) || md5(seq || '/' || n))))::text as payload) made`

/** Backs up a database of this size, restores it into another one, and checks that all of it is there. */
export function backupAndRestore({ name, sessions, eventsOfEach }: Size): BenchCase {
  const events = sessions * eventsOfEach
  return {
    name,
    title: `backup, restore and check of ${sessions.toLocaleString('en')} sessions with ${events.toLocaleString('en')} events`,
    async run({ folder, log }) {
      const [source, target] = [join(folder, 'source'), join(folder, 'target')]
      for (const dataDir of [source, target]) await mkdir(dataDir, { mode: 0o711 })
      const bytes = await fill(source, { sessions, eventsOfEach })
      log(`filled: ${rounded(bytes / 1e6)} MB`)
      const file = join(folder, 'bench.backup')
      const backup = await timedCommand<BackupReport>(['backup', file], source)
      log(`backed up in ${rounded(backup.seconds)} s`)
      const restore = await timedCommand<RestoreReport>(['restore', file], target)
      log(`restored in ${rounded(restore.seconds)} s`)
      const doctor = await timedCommand<{ findings: Finding[] }>(['doctor', '--deep'], target, { mayFail: true })
      assert.equal(rowsOf(restore.answer, 'sessions'), sessions)
      assert.equal(rowsOf(restore.answer, 'session_events'), events)
      const checks = doctor.answer.findings.filter(({ name: of }) => of === 'stored data')
      assert.deepEqual(
        restore.answer.integrity.map(({ claim }) => claim),
        checks.map(({ detail }) => detail),
      )
      const broken = checks.filter(({ state }) => state !== 'ok').length
      return [
        { name: 'sessions', value: sessions, unit: '' },
        { name: 'events', value: events, unit: '' },
        { name: 'backup', value: backup.seconds, unit: 's', detail: 'with the check of the file' },
        { name: 'restore', value: restore.seconds, unit: 's', detail: 'with the check of the file and of the data' },
        { name: 'doctor --deep', value: doctor.seconds, unit: 's' },
        { name: 'database', value: bytes / 1e6, unit: 'MB' },
        { name: 'file', value: backup.answer.bytes / 1e6, unit: 'MB' },
        memory('backup', backup.memoryMb),
        memory('restore', restore.memoryMb),
        { name: 'broken rules', value: broken, unit: '', target: 0, detail: `of ${checks.length} that are checked` },
      ]
    },
  }
}

const memory = (of: string, value: number): Figure => ({
  name: `memory of ${of}`,
  value,
  unit: 'MB',
  target: maxMemoryMb,
  detail: 'largest resident size of the command, without the database',
})

const rowsOf = ({ tables }: RestoreReport, table: string): number | undefined =>
  tables.find(({ name }) => name === table)?.rows

/** Makes the database and returns its size. */
async function fill(
  dataDir: string,
  { sessions, eventsOfEach }: Pick<Size, 'sessions' | 'eventsOfEach'>,
): Promise<number> {
  const database = await startEmbeddedPostgres({ dataDir, log: createLog('silent') })
  try {
    const pool = createPool({ url: database.url, max: 1, onLost: () => undefined })
    await migrate(pool).finally(() => pool.end())
    const client: Client = await connectAlone(database.url, 'bench')
    try {
      await client.query(sessionsText, [sessions, eventsOfEach])
      await client.query(promptsText, [sessions])
      await client.query(eventsText, [sessions, eventsOfEach])
      await client.query('vacuum analyze')
      const { rows } = await client.query<{ bytes: number }>('select pg_database_size(current_database()) as bytes')
      return rows[0]?.bytes ?? Number.NaN
    } finally {
      await client.end()
    }
  } finally {
    await database.stop()
  }
}
