/** Does `work` for each item, at most `most` at a time. Rejects with the first error, once nothing is in flight any more. */
export async function sideBySide<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]()
  let failure: { readonly error: unknown } | undefined
  const lane = async () => {
    for (let next = queue.next(); !next.done && !failure; next = queue.next()) {
      await work(next.value).catch(error => {
        failure ??= { error }
      })
    }
  }
  await Promise.all(Array.from({ length: most }, lane))
  if (failure) throw failure.error
}
