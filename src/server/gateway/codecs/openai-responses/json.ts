/** A JSON object of unknown content. */
export type Json = Readonly<Record<string, unknown>>

/** True for a JSON object: no array, no null. */
export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The objects in a list; empty for anything else than a list. */
export const recordsOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : [])

/** The value when it is text, else nothing. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** `record` without the fields that are undefined, in the same order. */
export const compact = (record: Json): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
