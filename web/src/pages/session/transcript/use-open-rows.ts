import { useCallback, useMemo, useState } from 'react'

/** Which rows are unfolded. Rows keep it while they are outside of the visible part. */
export interface OpenRows {
  readonly isOpen: (key: string) => boolean
  readonly toggle: (key: string) => void
}

export function useOpenRows(): OpenRows {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback((key: string) => setKeys(before => before.symmetricDifference(new Set([key]))), [])
  return useMemo(() => ({ isOpen: key => keys.has(key), toggle }), [keys, toggle])
}
