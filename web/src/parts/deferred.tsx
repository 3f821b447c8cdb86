import { type ReactNode, useDeferredValue } from 'react'

/** Draws its children after the first paint of what is around them, in slices. */
export function Deferred({ children }: { readonly children: ReactNode }) {
  return useDeferredValue(true, false) ? children : null
}
