/** A table and the other tables that its foreign keys reference. */
export interface Referencing {
  readonly name: string
  readonly references: readonly string[]
}

/** Returns the tables so that every table comes after those that it references. Throws for a cycle. */
export function inReferenceOrder<T extends Referencing>(tables: readonly T[]): T[] {
  const ordered: T[] = []
  let left = [...tables]
  while (left.length > 0) {
    const waiting = new Set(left.map(({ name }) => name))
    const free = left.filter(({ references }) => !references.some(name => waiting.has(name)))
    if (free.length === 0) throw new Error(`foreign keys form a cycle: ${[...waiting].join(', ')}`)
    ordered.push(...free)
    left = left.filter(table => !free.includes(table))
  }
  return ordered
}
