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
 * Adds rows with COPY, all or none: half of what the database spends on an insert of a JSON document. Columns that are
 * not named get their defaults. On the client of a transaction it is a part of that. Rejects as a query of the pool does.
 */
export async function copyRows<Row>(on: Pool | PoolClient, given: Given<Row>): Promise<void> {
  if (!(on instanceof Pool)) return copy(on, given)
  const client = await on.connect()
  let isClean = false
  try {
    await copy(client, given)
    isClean = true
  } catch (error) {
    // The server has answered, and takes the next statement.
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

/** The text format of COPY: columns between tabs, rows on lines of their own. */
export function copyText<Row>(columns: readonly (keyof Row & string)[], rows: readonly Row[]): string {
  /** Rows of one batch share objects, such as the rates of a model. */
  const documents = new Map<object, string>()
  const lines = rows.map(row => columns.map(column => fieldOf(row[column], documents)).join('\t'))
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

function fieldOf(value: unknown, documents: Map<object, string>): string {
  if (value === null || value === undefined) return '\\N'
  if (typeof value === 'string') return escaped(value)
  if (typeof value !== 'object') return String(value)
  const known = documents.get(value)
  if (known !== undefined) return known
  const text = escaped(JSON.stringify(value))
  documents.set(value, text)
  return text
}

const special = /[\\\t\n\r]/

const names: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

const escaped = (text: string): string =>
  special.test(text) ? text.replaceAll(/[\\\t\n\r]/g, found => names[found] ?? found) : text
