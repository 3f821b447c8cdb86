// Parts of the JSON encoding of OTLP 1.x: 64-bit numbers are texts.

export type AttributeValue = string | number | boolean | readonly string[]

/** Attributes by name; those without a value are omitted. */
export type Attributes = Readonly<Record<string, AttributeValue | null | undefined>>

/** Returns a value of unknown shape as the value of an attribute: objects and lists as JSON. */
export const attributeOf = (value: unknown): AttributeValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : JSON.stringify(value)

export const encodedAttributes = (attributes: Attributes): object[] =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: encodedValue(value) }],
  )

function encodedValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map(encodedValue) } }
}

/** Returns the nanoseconds since 1970, which a double cannot hold, for milliseconds. */
export const nanoseconds = (ms: number): string =>
  String(BigInt(Math.round((Number.isFinite(ms) ? ms : 0) * 1_000)) * 1_000n)
