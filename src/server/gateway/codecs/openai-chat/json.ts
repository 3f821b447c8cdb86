/** A JSON object of which nothing is known. */
export type Json = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const nothing: Json = {}

/** The object itself; an empty one in place of anything else. */
export const recordOf = (value: unknown): Json => (isRecord(value) ? value : nothing)

/** The array itself; an empty one in place of anything else. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The text itself; an empty one in place of anything else. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
