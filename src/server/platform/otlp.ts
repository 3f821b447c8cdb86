// Parts of the JSON encoding of OTLP 1.x, in which 64-bit numbers are texts. The text is
// written here, because an object for each value costs more.

export type AttributeValue = string | number | boolean | readonly string[]

/** Attributes by name; those without a value are omitted. */
export type Attributes = Readonly<Record<string, AttributeValue | null | undefined>>

/** Returns a value of unknown shape as the value of an attribute: objects and lists as JSON. */
export const attributeOf = (value: unknown): AttributeValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : JSON.stringify(value)

/** Returns attributes as the elements of a list in JSON, with commas between them. */
export function attributesJson(attributes: Attributes): string {
  let json = ''
  for (const key of Object.keys(attributes)) {
    const value = attributes[key]
    if (value === undefined || value === null) continue
    json += `${json === '' ? '' : ','}{"key":${textJson(key)},"value":${valueJson(value)}}`
  }
  return json
}

/** Returns a text in JSON, without lone surrogates, which collectors reject. */
export const textJson = (text: string): string => JSON.stringify(text.toWellFormed())

export function valueJson(value: AttributeValue): string {
  if (typeof value === 'string') return `{"stringValue":${textJson(value)}}`
  if (typeof value === 'boolean') return `{"boolValue":${value}}`
  if (typeof value !== 'number') return `{"arrayValue":{"values":[${value.map(valueJson).join(',')}]}}`
  return Number.isSafeInteger(value) ? `{"intValue":"${value}"}` : `{"doubleValue":${JSON.stringify(value)}}`
}

/** Returns the nanoseconds since 1970, which a double cannot hold, for milliseconds. */
export function nanoseconds(ms: number): string {
  const microseconds = Number.isFinite(ms) ? Math.round(ms * 1_000) : 0
  return microseconds === 0 ? '0' : `${microseconds}000`
}
