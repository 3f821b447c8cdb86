/** A JSON object of which nothing is known. */
export type Json = Readonly<Record<string, unknown>>

const nothing: Json = {}

/** True for a JSON object: no array, no null. */
export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object itself; an empty one in place of anything else. */
export const recordOf = (value: unknown): Json => (isRecord(value) ? value : nothing)

/** The array itself; an empty one in place of anything else. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The objects of an array; none for anything else. */
export const recordsOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : [])

/** `list` with every entry as `change` returns it; the list itself when all of them stay as they are. */
export function mapped<T>(list: readonly T[], change: (entry: T, index: number) => T): readonly T[] {
  const changed = list.map(change)
  return changed.some((entry, index) => entry !== list[index]) ? changed : list
}

/** `record` with every entry of the list at `field` as `change` returns it; itself when all stay, or without a list. */
export function withEntries(record: Json, field: string, change: (entry: unknown, index: number) => unknown): Json {
  const list = listOf(record[field])
  const changed = mapped(list, change)
  return changed === list ? record : { ...record, [field]: changed }
}

/** The text itself; an empty one in place of anything else. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The text itself; undefined in place of anything else. */
export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The text itself, unless it is empty or none. */
export const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** A whole number from 0 on, such as a count of tokens; undefined for anything else. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/** `record` without the fields that are undefined, in the same order. */
export const compact = (record: Json): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))

/** The value of a JSON text, or `otherwise` when it is none. */
export function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Strangers' text: the caller decides what it means.
    return otherwise
  }
}

/** True for a field that says nothing: many clients send null as often as they leave it out. */
export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null
