/** An object of strangers' JSON. */
export type Fields = Readonly<Record<string, unknown>>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `value` if it is an object, else an empty one. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

/** `value` if it is a text, else undefined. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** True for a field that says nothing: OpenAI's clients send null as often as they leave it out. */
export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null
