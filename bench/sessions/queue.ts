import { join } from 'node:path'
import { Pool } from 'pg'
import { startEmbeddedPostgres } from '../../src/server/db/embedded-postgres.ts'
import { migrate } from '../../src/server/db/migrate.ts'
import { createLog } from '../../src/server/platform/log.ts'
import { leaseStore } from '../../src/server/sessions/engine/lease-store.ts'
import { pauseStore } from '../../src/server/sessions/waits/pause-store.ts'
import type { BenchCase, Figure } from '../bench-case.ts'
import { median } from '../statistics.ts'

const steps = [20, 200, 2_000, 20_000]
const looks = 30
const boundMs = 10

/** So many sessions with a prompt that may be worked on now. */
const waitingText = `
  insert into prompts (id, session_id, position, parts, model, mode, principal, state)
  select 'msg_' || n, 'ses_' || n, 1, '[]', 'demo', 'enqueue', 'bob', 'waiting' from generate_series(1, $1::int) n`

/** Each of them is stopped by one budget that is used up, or by its own budget. */
const heldText = (budget: string) => `
  insert into waits (prompt_id, kind, session_id, needs_usd, not_before, scope, scope_id)
  select id, 'budget', session_id, 0.1, clock_timestamp(), ${budget} from prompts`

const budgetsText = `
  insert into budgets (scope, scope_id, max_usd, spent_usd)
  select 'session', id, 1, 1 from sessions union all select 'owner', 'bob', 1, 1`

/** Cost of a replica for polling work that it cannot do now, as there is more and more of it. */
export const queue: BenchCase = {
  name: 'queue',
  title: `claims and looks for budgets with room, beside ${steps.map(n => n.toLocaleString('en')).join(', ')} sessions that wait or are held; medians of ${looks}`,
  async run({ folder, log }) {
    const database = await startEmbeddedPostgres({ dataDir: join(folder, 'database'), log: createLog('silent') })
    const pool = new Pool({ connectionString: database.url, max: 2 })
    try {
      await migrate(pool)
      const figures: Figure[] = []
      for (const count of steps) {
        figures.push(...(await beside(pool, count)))
        log(`${count} sessions measured`)
      }
      return figures
    } finally {
      await pool.end()
      await database.stop()
    }
  },
}

async function beside(pool: Pool, count: number): Promise<Figure[]> {
  await pool.query('truncate sessions, prompts, waits, budgets cascade')
  await pool.query(
    `insert into sessions (id, owner_id, title, agent, agent_id, harness, runtime, environment)
     select 'ses_' || n, 'bob', '', '', 'agent_1', 'builtin', 'builtin', '{}' from generate_series(1, $1::int) n`,
    [count],
  )
  await pool.query(waitingText, [count])
  await pool.query('update sessions set due_at = clock_timestamp()')
  await pool.query('analyze')
  const leases = leaseStore(pool)
  const claim = () => leases.acquireOldest(10, 'bench')
  const claimMs = await medianMs(claim, () =>
    pool.query('update sessions set lease_owner = null, lease_until = null where lease_owner is not null'),
  )
  await pool.query('update sessions set due_at = null')
  await pool.query(budgetsText)
  const figure = (what: string, value: number): Figure => ({
    name: `${what}, ${count.toLocaleString('en')} sessions`,
    bar: { chart: `${what} (ms)`, label: `${count.toLocaleString('en')} sessions` },
    value,
    unit: 'ms',
    ...(count === steps.at(-1) && { target: boundMs }),
  })
  const held: Figure[] = []
  for (const [what, budget] of [
    ['held by one budget', `'owner', 'bob'`],
    ['each held by its own', `'session', session_id`],
  ] as const) {
    await pool.query('delete from waits')
    await pool.query(heldText(budget))
    await pool.query('vacuum analyze')
    const sweep = () => pauseStore(pool).ready({ changed: [], limit: 100 })
    held.push(figure(`look for room, ${what}`, await medianMs(sweep)))
    held.push(figure(`claim, ${what}`, await medianMs(claim)))
  }
  return [figure('claim of 10 that wait', claimMs), ...held]
}

async function medianMs(look: () => Promise<unknown>, after?: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < looks; at++) {
    const startedAt = performance.now()
    await look()
    times.push(performance.now() - startedAt)
    await after?.()
  }
  return median(times)
}
