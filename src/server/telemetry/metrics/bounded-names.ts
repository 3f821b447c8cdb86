/** Value of a label beyond the limit. */
export const otherName = 'other'

/**
 * Returns a function that passes at most `limit` different values of a label and replaces all others by `other`: each
 * value is a time series in every scraper, for as long as it stores data.
 */
export function boundedNames(limit: number): (name: string) => string {
  const known = new Set<string>()
  return name => {
    if (known.has(name)) return name
    if (name === '' || known.size >= limit) return otherName
    known.add(name)
    return name
  }
}
