import { isRecord } from '../../platform/json.ts'

/** Maximum levels of the arguments of a call: a model request may have 500, and `JSON.stringify` is recursive. */
const maxLevels = 100
/** Maximum values of the arguments of a call: a model request may have 500,000. */
const maxValues = 200_000

/**
 * Parses the arguments of a tool call. Text that is not a JSON object stays text, and the call then fails. So does an
 * object that is too large for later model requests: it would end the session.
 */
export function argumentsOf(json: string): Readonly<Record<string, unknown>> | string {
  if (json.trim() === '') return {}
  if (!isModest(json)) return json
  try {
    const value: unknown = JSON.parse(json)
    return isRecord(value) ? value : json
  } catch {
    return json
  }
}

/** Characters of invalid arguments that later model requests repeat. */
const maxShown = 2_000

/** Returns the arguments of a call for later model requests: providers reject those that are not an object. */
export const sentArguments = (input: unknown): Readonly<Record<string, unknown>> =>
  isRecord(input) ? input : { invalid_arguments: String(input).slice(0, maxShown).toWellFormed() }

const steps: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 }

/** Reports whether JSON is within both limits; the number of its commas bounds that of its values. */
function isModest(json: string): boolean {
  let [level, values] = [0, 0]
  for (let at = 0; at < json.length; at++) {
    const character = json[at] ?? ''
    if (character === '"') at = endOfText(json, at)
    else if (character === ',') values++
    else level += steps[character] ?? 0
    if (level > maxLevels || values > maxValues) return false
  }
  return true
}

/** Returns the position of the quote that ends the text at `start`. */
function endOfText(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === '"') return at
    if (json[at] === '\\') at++
  }
  return json.length
}
