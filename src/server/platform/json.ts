/** A JSON object of unknown shape. */
export type Json = Readonly<Record<string, unknown>>

const nothing: Json = {}

/** True for a JSON object, not for arrays and null. */
export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns an object unchanged; an empty object for other values. */
export const recordOf = (value: unknown): Json => (isRecord(value) ? value : nothing)

/** Returns an array unchanged; an empty array for other values. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns the objects of an array; an empty array for other values. */
export const recordsOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : [])

/** Returns `list` mapped with `change`; the same array if no entry changes. */
export function mapped<T>(list: readonly T[], change: (entry: T, index: number) => T): readonly T[] {
  const changed = list.map(change)
  return changed.some((entry, index) => entry !== list[index]) ? changed : list
}

/**
 * Returns `record` with the list at `field` mapped with `change`; the same object if no entry changes or without a
 * list.
 */
export function withEntries(record: Json, field: string, change: (entry: unknown, index: number) => unknown): Json {
  const list = listOf(record[field])
  const changed = mapped(list, change)
  return changed === list ? record : { ...record, [field]: changed }
}

/** Returns the members of all objects of a list; of a repeated name the last one. Time is linear. */
export const withAllMembers = (list: readonly unknown[]): Json =>
  Object.fromEntries(list.flatMap(each => Object.entries(recordOf(each))))

/** Returns a string unchanged; an empty string for other values. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Returns a string unchanged; undefined for other values. */
export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** Returns a non-empty string unchanged; undefined for other values. */
export const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Returns an integer of 0 or more, such as a token count, unchanged; undefined for other values. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/** Returns `record` without undefined fields, in the same order. */
export const compact = (record: Json): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))

/** Returns the value of a JSON text, which `parse` reads; `otherwise` for invalid JSON. */
export function jsonOr(text: string, otherwise: unknown, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text)
  } catch {
    // External text: the caller decides how to handle it.
    return otherwise
  }
}

/** True for undefined and null, because many clients send null for omitted fields. */
export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null
