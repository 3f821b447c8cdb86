/** Names of members whose values are usually secrets. */
const secretName =
  /pass(word|wd|phrase)|secret|token|api[-_]?key|authorization|credential|private[-_]?key|cookie|signature/i

const mask = '••••••'

interface Redacted {
  readonly text: string
  /** Number of values that were masked. */
  readonly count: number
}

/**
 * Returns a payload for display with values masked whose names look like secrets. Text that is not JSON is returned as it is: it
 * has no names.
 */
export function redacted(payload: string): Redacted {
  let value: unknown
  try {
    value = JSON.parse(payload)
  } catch {
    return { text: payload, count: 0 }
  }
  let count = 0
  const walk = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(walk)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([name, member]) => {
        if (!secretName.test(name) || !isSecret(member)) return [name, walk(member)]
        count++
        return [name, mask]
      }),
    )
  }
  return { text: JSON.stringify(walk(value), null, 2), count }
}

const isSecret = (value: unknown): boolean => (typeof value === 'string' && value !== '') || typeof value === 'number'
