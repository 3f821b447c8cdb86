const pageSize = 200
const maxListed = 1000

interface Part<Item> {
  readonly items: readonly Item[]
  readonly next: string | null
}

/** Returns the newest 1,000 items of a list, for choices and names. `load` requests one page. */
export async function newestOf<Item>(
  load: (page: { readonly limit: number; readonly cursor?: string }) => Promise<Part<Item>>,
): Promise<readonly Item[]> {
  const found: Item[] = []
  for (let cursor: string | null | undefined; cursor !== null && found.length < maxListed; ) {
    const { items, next } = await load({ limit: pageSize, ...(cursor !== undefined && { cursor }) })
    found.push(...items)
    cursor = next
  }
  return found
}
