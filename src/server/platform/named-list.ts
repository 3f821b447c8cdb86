/**
 * Returns the first names of a list as text, and the number of the others: `a, b and 3 more`. `count` is the length of the
 * whole list, where `names` has only its start.
 */
export function namedList(names: readonly string[], max: number, count = names.length): string {
  const more = count - max
  return `${names.slice(0, max).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
