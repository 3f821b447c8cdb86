/** Runs `work` for each item, at most `most` at a time. Rejects with the first error, once no call is running. */
export async function inParallel<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  let failure: { readonly error: unknown } | undefined
  const worker = async () => {
    for (let next = queue.next(); !next.done && !failure; next = queue.next()) {
      await work(next.value).catch(error => {
        failure ??= { error }
      })
    }
  }
  await Promise.all(Array.from({ length: limit }, worker))
  if (failure) throw failure.error
}
