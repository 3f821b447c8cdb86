/** Members of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns an object; an empty one for any other value. */
export const recordOf = (value: unknown): Fields => (isRecord(value) ? value : {})

/** Returns the texts of a list. */
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'string') : []

/** A text that should be JSON. */
export interface Parsed {
  /** Undefined for an empty text, too. */
  readonly value?: unknown
  readonly problem?: string
}

/** Parses the text of a field. */
export function parseJson(text: string): Parsed {
  if (text.trim() === '') return {}
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { problem: `not JSON: ${error instanceof Error ? error.message : 'cannot be read'}` }
  }
}

/** Returns the object in a JSON text, `{}` for an empty one; undefined for anything else. */
export function objectIn(text: string): Fields | undefined {
  if (text.trim() === '') return {}
  const { value } = parseJson(text)
  return isRecord(value) ? value : undefined
}
