import type { Group, Turn, View } from '../view.ts'

/** Returns `next` with the equal turns, groups and items of `previous`, so that a reader can compare by identity. */
export function reused(previous: View, next: View): View {
  const before = byKey(previous.turns)
  return { ...next, turns: next.turns.map(turn => reusedTurn(before.get(turn.key), turn)) }
}

function reusedTurn(previous: Turn | undefined, next: Turn): Turn {
  if (!previous) return next
  if (isEqual(previous, next)) return previous
  const before = byKey(previous.groups)
  return { ...next, groups: next.groups.map(group => reusedGroup(before.get(group.key), group)) }
}

function reusedGroup(previous: Group | undefined, next: Group): Group {
  if (!previous) return next
  if (isEqual(previous, next)) return previous
  const before = byKey(previous.items)
  const items = next.items.map(item => {
    const same = before.get(item.key)
    return same && isEqual(same, item) ? same : item
  })
  return { ...next, items }
}

const byKey = <Value extends { readonly key: string }>(list: readonly Value[]): ReadonlyMap<string, Value> =>
  new Map(list.map(each => [each.key, each]))

/** Compares plain data by value. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length || Array.isArray(a) !== Array.isArray(b)) return false
  return names.every(name => Object.hasOwn(b, name) && isEqual(fieldOf(a, name), fieldOf(b, name)))
}

const fieldOf = (value: object, name: string): unknown => (value as Readonly<Record<string, unknown>>)[name]
