import { isUnsendable } from './providers.ts'

/** Headers that depend on the connection or the body. */
const ownHeaders = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'accept-encoding',
  'expect',
])

/**
 * Returns headers of a setting with names in lower case. Calls `report` for each that cannot be sent; the problem is worded
 * to follow its name.
 */
export function requestHeaders(
  headers: Readonly<Record<string, string | undefined>>,
  report: (name: string, problem: string) => void,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([given, value]) => {
      const name = given.toLowerCase()
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || ownHeaders.has(name)) report(given, 'cannot be set')
      else if (value !== undefined && isUnsendable(value)) report(given, 'is not a valid header value')
      // A value of a wrong type was reported while the file was parsed.
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
}
