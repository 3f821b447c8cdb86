// Parts of the JSON encoding of OTLP 1.x: 64-bit numbers are texts.

export type AttributeValue = string | number | boolean | readonly string[]

/** Attributes by name; those without a value are omitted. */
export type Attributes = Readonly<Record<string, AttributeValue | null | undefined>>

/** Returns a value of unknown shape as the value of an attribute: objects and lists as JSON. */
export const attributeOf = (value: unknown): AttributeValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : JSON.stringify(value)

/** Returns attributes as a list. A loop, since spans of model calls are on the path of calls. */
export function encodedAttributes(attributes: Attributes): object[] {
  const list: object[] = []
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) list.push({ key, value: encodedValue(value) })
  }
  return list
}

function encodedValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map(encodedValue) } }
}

/** Returns the nanoseconds since 1970, which a double cannot hold, for milliseconds. */
export function nanoseconds(ms: number): string {
  const microseconds = Number.isFinite(ms) ? Math.round(ms * 1_000) : 0
  return microseconds === 0 ? '0' : `${microseconds}000`
}
