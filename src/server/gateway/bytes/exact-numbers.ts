import { isRecord, type Json, jsonOr } from '../../platform/json.ts'

/** A number in its own spelling, which JSON.stringify writes unchanged. TypeScript does not know these functions yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): object
  isRawJSON(value: unknown): value is { readonly rawJSON: string }
}

/**
 * Matches every text with a number that a double would change, such as `9007199254740993` or `1.0`, and few others:
 * exact parsing takes four times as long. The two settings are excluded because many clients send `1.0`.
 */
const mayChange =
  /(?<!"(?:temperature|top_p)"\s*)[[:,]\s*-?(?:(?<=-)0(?![.\d])|\d+(?:\.\d*0(?!\d)|[\d.]{15}|(?:\.\d+)?[eE]))/

/** Parses JSON. Numbers that a double would change keep their spelling. Throws a SyntaxError. */
function parseExact(text: string): unknown {
  return mayChange.test(text) ? JSON.parse(text, exact as (key: string, value: unknown) => unknown) : JSON.parse(text)
}

function exact(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && source !== String(value) ? rawJSON(source) : value
}

/**
 * Returns the input of a tool call, with its numbers in their own spelling; undefined if the text is not an object. Some
 * models write the object as a JSON string.
 */
export function toolInputIn(text: string): Json | undefined {
  const value = jsonOr(text, undefined, parseExact)
  const inner = typeof value === 'string' ? jsonOr(value, undefined, parseExact) : value
  return isObject(inner) ? inner : undefined
}

const isObject = (value: unknown): value is Record<string, unknown> => isRecord(value) && !isRawJSON(value)

/** Members whose object is the input of a tool call, in any format, or its result, in Gemini's. */
const inputs: ReadonlySet<string> = new Set(['input', 'args', 'arguments', 'response'])
const mayHaveInput = /"(?:input|args|arguments|response)"\s*:\s*\{/

/**
 * Parses a request or an answer. In the inputs of tool calls and their results, which belong to the client and the model, numbers that a
 * double would change keep their spelling. Throws a SyntaxError.
 */
export function parseExactInputs(text: string): unknown {
  return mayHaveInput.test(text) && mayChange.test(text) ? settled(parseExact(text)) : JSON.parse(text)
}

/** As `parseExactInputs`; returns `otherwise` for invalid JSON. */
export const exactInputsOr = (text: string, otherwise: unknown): unknown => jsonOr(text, otherwise, parseExactInputs)

/** Replaces exact numbers outside of inputs, in place: other fields are read as numbers. */
function settled(value: unknown): unknown {
  if (isRawJSON(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) for (const [index, entry] of value.entries()) value[index] = settled(entry)
  else if (isObject(value)) settleMembers(value)
  return value
}

function settleMembers(record: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(record)) {
    if (!(inputs.has(name) && isObject(value))) record[name] = settled(value)
  }
}
