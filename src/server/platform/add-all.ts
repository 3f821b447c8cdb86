/** Appends items to a list of any length. `list.push(...items)` throws a RangeError for more than about 100,000. */
export function addAll<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item)
}
