/** A schema and optionally a value to validate, both as JSON text. */
export interface SchemaTask {
  readonly schema: string
  readonly value?: string
}

/** A regular expression and a text to search. */
export interface PatternTask {
  readonly pattern: string
  readonly text: string
}

export type CheckTask = SchemaTask | PatternTask

/** Result of a pattern without a match. */
export const noMatch = 'has no match'
