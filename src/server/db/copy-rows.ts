import { finished } from 'node:stream/promises'
import { Pool, type PoolClient } from 'pg'
import { from } from 'pg-copy-streams'
import { DatabaseUnavailable } from '../platform/errors.ts'
import { asUnavailable } from './connect.ts'

interface Given<Row> {
  readonly table: string
  readonly columns: readonly (keyof Row & string)[]
  readonly rows: readonly Row[]
}

/**
 * Inserts rows with COPY, atomically, at half the database cost of inserting a JSON document. Omitted columns get their
 * defaults. With the client of a transaction it is part of the transaction. Rejects like a query of the pool.
 */
export async function copyRows<Row>(on: Pool | PoolClient, given: Given<Row>): Promise<void> {
  if (!(on instanceof Pool)) return copy(on, given)
  const client = await on.connect()
  let isClean = false
  try {
    await copy(client, given)
    isClean = true
  } catch (error) {
    // The server answered, so the connection can be reused.
    isClean = !(error instanceof DatabaseUnavailable)
    throw error
  } finally {
    client.release(!isClean)
  }
}

async function copy<Row>(client: PoolClient, { table, columns, rows }: Given<Row>): Promise<void> {
  try {
    const stream = client.query(from(`copy ${table} (${columns.join(', ')}) from stdin`))
    stream.end(copyText(columns, rows))
    await finished(stream)
  } catch (error) {
    throw asUnavailable(error)
  }
}

/** Returns rows in the text format of COPY: tab-separated columns, one line per row. */
export function copyText<Row>(columns: readonly (keyof Row & string)[], rows: readonly Row[]): string {
  /** Cache, because rows of a batch share objects, such as the rates of a model. */
  const documents = new Map<object, string>()
  const lines = rows.map(row => columns.map(column => fieldOf(row[column], documents)).join('\t'))
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

function fieldOf(value: unknown, documents: Map<object, string>): string {
  if (value === null || value === undefined) return '\\N'
  if (typeof value === 'string') return escaped(value)
  if (typeof value !== 'object') return String(value)
  if (value instanceof Date) return value.toISOString()
  const cached = documents.get(value)
  if (cached !== undefined) return cached
  const text = escaped(JSON.stringify(value))
  documents.set(value, text)
  return text
}

const special = /[\\\t\n\r]/

const names: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

const escaped = (text: string): string =>
  special.test(text) ? text.replaceAll(/[\\\t\n\r]/g, found => names[found] ?? found) : text
