// Loaded before the service (`node --import`), in tests alone: wraps the database client so that a fault strikes at a
// chosen write of one prompt. FAULT_PLAN is JSON: {"write":3,"moment":"before","signal":"SIGKILL"}, {"words":"..."} for
// the first such statement, or {"deaf":true} for a service that receives no notification. Without `write` it only counts, and adds a line for each write to FAULT_RECORD.
import { appendFileSync } from 'node:fs'
import { Client } from 'pg'

interface Plan {
  readonly write?: number
  /** Strikes before the first statement that holds these words, anywhere. */
  readonly words?: string
  /** Strikes right after the commit of the first transaction with a statement that holds these words. */
  readonly committed?: string
  readonly moment?: 'before' | 'after'
  readonly signal?: NodeJS.Signals
  readonly deaf?: boolean
}

type Query = (this: Connection, ...args: unknown[]) => unknown

interface Connection {
  readonly connectionParameters?: { readonly application_name?: string }
}

const plan = JSON.parse(process.env['FAULT_PLAN'] ?? '{}') as Plan
const record = process.env['FAULT_RECORD']
const prototype = Client.prototype as unknown as { query: Query }
const query = prototype.query
const inTransaction = new WeakSet<Connection>()
const isAwaited = new WeakSet<Connection>()
let isArmed = false
let writes = 0
let hasStruck = false

prototype.query = function (this: Connection, ...args) {
  const text = textOf(args[0])
  if (plan.deaf && /^listen /i.test(text)) return query.call(this, 'select 1')
  if (plan.words !== undefined && text.includes(plan.words)) strike()
  if (plan.committed !== undefined && text.includes(plan.committed)) isAwaited.add(this)
  if (isAwaited.has(this) && /^\s*commit\b/i.test(text)) return struckAfter(this, args)
  const isCommitted = isWrite(this, text)
  if (!isCommitted) return query.apply(this, args)
  writes++
  if (record !== undefined) appendFileSync(record, `${writes} ${text.trim().replaceAll(/\s+/g, ' ').slice(0, 80)}\n`)
  const isHere = writes === plan.write
  if (isHere && plan.moment === 'before') strike()
  return isHere && plan.moment === 'after' ? struckAfter(this, args) : query.apply(this, args)
}

function textOf(first: unknown): string {
  return typeof first === 'string' ? first : String((first as { text?: unknown } | null)?.text ?? '')
}

/** True for a statement with which something of the prompt becomes durable: a commit, or its own write. */
function isWrite(connection: Connection, text: string): boolean {
  if (connection.connectionParameters?.application_name !== 'switchyard') return false
  const statement = text.trim().toLowerCase()
  if (statement === 'begin') inTransaction.add(connection)
  if (statement === 'commit' || statement === 'rollback') inTransaction.delete(connection)
  // Storing the prompt begins the count; what happens at start and on a timer is not part of it.
  if (statement.includes('from accept_prompt(')) isArmed = true
  if (!isArmed || inTransaction.has(connection) || isOfTimer(statement)) return false
  return /^(commit|insert|update|delete)\b/.test(statement) || writing.test(statement)
}

/** Calls of the functions that write, and writes behind a `with`. */
const writing =
  /^select \* from (append_events|accept_prompt|begin_run|end_run)\(|^with\b.*\b(insert into|update|delete from) /s

/** Renewals, sweeps and the ledger come when they come; counted, they would move every number behind them. */
const isOfTimer = (statement: string): boolean =>
  /insert into "?usage"?|webhook_cursors|webhook_repl|a2a_push_configs/.test(statement) ||
  statement.includes('unnest($1::text[], $2::bigint[]) as held')

function strike(): void {
  if (hasStruck) return
  hasStruck = true
  process.kill(process.pid, plan.signal ?? 'SIGKILL')
}

/** The pool passes a callback, everybody else takes the promise. */
function struckAfter(connection: Connection, args: unknown[]): unknown {
  const last = args.at(-1)
  if (typeof last === 'function') {
    const callback = (...answer: unknown[]) => {
      strike()
      last(...answer)
    }
    return query.apply(connection, [...args.slice(0, -1), callback])
  }
  return Promise.resolve(query.apply(connection, args)).finally(strike)
}
