/** Tells that nobody waits any more. An AbortSignal is one; that of an HTTP call costs less to make and to listen to. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once: true }): void
  removeEventListener(type: 'abort', listener: () => void): void
}
