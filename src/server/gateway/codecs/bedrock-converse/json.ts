/** A JSON object of unknown content. */
export type Json = Readonly<Record<string, unknown>>

/** True for a JSON object: no array, no null. */
export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value when it is text, else nothing. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The value when it is a JSON object, else an empty one. */
export const recordOf = (value: unknown): Json => (isRecord(value) ? value : {})

/** `record` without the fields that are undefined, in the same order. */
export const compact = (record: Json): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
