import { InvalidArgumentError } from 'commander'

interface Range {
  readonly min: number
  readonly max: number
}

/** Returns a parser of whole numbers in a range; other texts are a usage error. */
export const wholeNumber =
  ({ min, max }: Range) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    return value
  }

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

/** Maximum delay of a timer: 2^31 - 1 ms, about 24 days. */
const maxDurationMs = 2_147_483_647

/** Parses `90s`, `10m`, `1.5h` or `500ms`; returns milliseconds. */
export function duration(text: string): number {
  const [, amount, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)$/.exec(text) ?? []
  const ms = amount === undefined ? 0 : Math.round(Number(amount) * unitMs[unit as keyof typeof unitMs])
  if (ms > 0 && ms <= maxDurationMs) return ms
  throw new InvalidArgumentError('It must be a time with a unit, such as 500ms, 90s, 10m or 1.5h, of at most 24 days.')
}

/** Parses an amount of US dollars, such as `20` or `0.50`. */
export function dollars(text: string): number {
  if (/^\d{1,12}(\.\d{1,9})?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be an amount of US dollars, such as 20 or 0.50.')
}

/** Parses a share from 0 to 1, such as `0.9`. */
export function share(text: string): number {
  const value = /^[01](\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN
  if (value <= 1) return value
  throw new InvalidArgumentError('It must be a number from 0 to 1, such as 0.9.')
}

/** Parses the address of a service, http or https; returns it without a trailing slash. */
export function serviceUrl(text: string): string {
  const url = URL.parse(text)
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) return text.replace(/\/+$/, '')
  throw new InvalidArgumentError('It must be an address such as http://127.0.0.1:4000.')
}

/** Returns text that is not blank. */
export function someText(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('It must not be blank.')
}

/** Parses JSON; the value is wrapped, because it may be null. */
export function jsonText(text: string): { value: unknown } {
  try {
    return { value: JSON.parse(text) }
  } catch {
    throw new InvalidArgumentError('It must be JSON.')
  }
}

/** Adds a `name=value` to the previous ones. */
export function nameAndValue(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at > 0) return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
  throw new InvalidArgumentError('It must be a name and a value, such as team=blue.')
}
