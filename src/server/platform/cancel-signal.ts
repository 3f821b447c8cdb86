/** Signal that a result is no longer needed. AbortSignal implements it; HTTP calls use a cheaper implementation. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once: true }): void
  removeEventListener(type: 'abort', listener: () => void): void
}
