/** Lock of a migration on a table that exists before it. It is held until the migration has ended. */
export interface MigrationLock {
  readonly table: string
  /** Mode as PostgreSQL names it in `pg_locks`. */
  readonly mode: LockMode
  /** What waits for the migration. */
  readonly blocks: 'reads and writes' | 'writes' | 'other migrations'
}

type LockMode = 'AccessExclusiveLock' | 'ShareRowExclusiveLock' | 'ShareLock' | 'RowExclusiveLock'

/** From the strongest to the weakest. */
const blocked: Readonly<Record<LockMode, MigrationLock['blocks']>> = {
  AccessExclusiveLock: 'reads and writes',
  ShareRowExclusiveLock: 'writes',
  ShareLock: 'writes',
  RowExclusiveLock: 'other migrations',
}

const strength = Object.keys(blocked)

const name = '"?(\\w+)"?'

/** Statements that lock a table, with the name of the table as their first group. */
const rules: readonly (readonly [RegExp, LockMode])[] = [
  [new RegExp(`^alter table (?:if exists )?(?:only )?${name}`), 'AccessExclusiveLock'],
  [new RegExp(`^drop table (?:if exists )?${name}`), 'AccessExclusiveLock'],
  [new RegExp(`^truncate (?:table )?${name}`), 'AccessExclusiveLock'],
  [new RegExp(`^drop trigger (?:if exists )?\\w+ on ${name}`), 'AccessExclusiveLock'],
  [new RegExp(`^create (?:or replace )?(?:constraint )?trigger .*? on ${name}`), 'ShareRowExclusiveLock'],
  [new RegExp(`^create (?:unique )?index (?:if not exists )?(?:\\w+ )?on ${name}`), 'ShareLock'],
  [new RegExp(`^insert into ${name}`), 'RowExclusiveLock'],
  [new RegExp(`^update ${name}`), 'RowExclusiveLock'],
  [new RegExp(`^delete from ${name}`), 'RowExclusiveLock'],
]

/** Returns the locks of a migration on tables that exist before it, read from its statements. */
export function locksOfMigration(sql: string): MigrationLock[] {
  const statements = statementsOf(sql)
  const created = new Set(statements.flatMap(text => createdBy.exec(text)?.[1] ?? []))
  const modes = new Map<string, LockMode>()
  for (const text of statements) {
    for (const [table, mode] of locksOfStatement(text)) {
      const before = modes.get(table)
      const isStronger = before === undefined || strength.indexOf(mode) < strength.indexOf(before)
      if (!created.has(table) && isStronger) modes.set(table, mode)
    }
  }
  return [...modes].map(([table, mode]) => ({ table, mode, blocks: blocked[mode] }))
}

const createdBy = new RegExp(`^create (?:unlogged )?table (?:if not exists )?${name}`)

function* locksOfStatement(text: string): Generator<readonly [string, LockMode]> {
  for (const [pattern, mode] of rules) {
    const table = pattern.exec(text)?.[1]
    if (table !== undefined) yield [table, mode]
  }
  if (!/^(create table|alter table)/.test(text)) return
  // A foreign key adds triggers to the table that it references.
  for (const [, table = ''] of text.matchAll(new RegExp(`\\breferences ${name}`, 'g')))
    yield [table, 'ShareRowExclusiveLock']
}

/** Splits a migration into statements of one line each, in lower case, without comments and bodies of functions. */
function statementsOf(sql: string): string[] {
  const plain = sql.replaceAll(/\$(\w*)\$.*?\$\1\$/gs, '$').replaceAll(/--[^\n]*/g, '')
  return plain
    .split(';')
    .map(text => text.replaceAll(/\s+/g, ' ').trim().toLowerCase())
    .filter(text => text !== '')
}
