interface Pages {
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly isFetchNextPageError: boolean
  readonly fetchNextPage: () => Promise<unknown>
}

/**
 * Returns what loads the next page of a list; undefined without one, while it is loading, and after it failed: a list that
 * shows its end would otherwise request it again without a pause.
 */
export function nextPageOf(list: Pages): (() => void) | undefined {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = list
  return hasNextPage && !isFetchingNextPage && !isFetchNextPageError ? () => void fetchNextPage() : undefined
}
